/** The eviction manager of the production agent on a simulated runtime. The test sets the figures of the node. */
import type { ClusterParts } from '../../../../src/agent/actors/cluster/cluster-parts.ts';
import type { EvictionStats } from '../../../../src/agent/actors/eviction/eviction-figures.ts';
import type { NodeAgent } from '../../../../src/agent/actors/node-agent.ts';
import { stateName } from '../../../../src/agent/actors/transitions.ts';
import type { EvictionSettings } from '../../../../src/agent/policies/eviction/pass.ts';
import type { NodeParts } from '../../../../src/agent/runtime/node/pod-node.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { SummaryOptions } from '../../../../src/agent/runtime/stats/stats-provider.ts';
import type { PodStats, Summary } from '../../../../src/types/stats.ts';
import { agentOn, type PathNode, LASTING_COMMAND, simulatedPathNode } from '../../../paths/path-node.ts';
import { requestingPod, type RequestingPod } from '../../../support/admission.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { GI, type Left, nodeWith, settingsWith } from '../../../support/eviction.ts';

/** The free resources of the node, and the usage of its pods. */
class Figures implements EvictionStats {
  left: Left = { memory: 500, disk: 50, pids: 900 };
  pods: readonly PodStats[] = [];
  measurements = 0;
  /** The options of each measurement. */
  readonly asked: SummaryOptions[] = [];
  measurementsOfPods = 0;
  afterMeasurement = (): unknown => undefined;
  problem: Error | undefined;
  /** A measurement that needs more than the kernel's figures waits until it is aborted. */
  isRuntimeSilent = false;
  layout: () => ReturnType<EvictionStats['diskLayout']> = () =>
    Promise.resolve({ dedicatedImageFs: false, dedicatedContainerFs: false });
  #crossed: (crossing: { isBelow: boolean }) => void = () => undefined;

  readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  async summary(options: SummaryOptions = {}): Promise<Summary> {
    const { onlyNode = false, onlyCPUAndMemory = false, ioOverMs = 0, signal } = options;
    this.asked.push(options);
    if (this.problem) throw this.problem;
    if (this.isRuntimeSilent && !onlyCPUAndMemory) await aborted(signal!);
    this.measurements += 1;
    // The virtual clock stands still here, but each measurement needs a later time than the one before.
    const node = nodeWith({ ...this.left, nowMs: this.nowMs() + this.measurements });
    const { nodeName, memory } = node;
    if (!onlyNode) this.measurementsOfPods += 1;
    this.afterMeasurement();
    const pods = this.pods.map(({ io, ...rest }) => (io && ioOverMs > 0 ? { ...rest, io } : rest));
    return {
      node: onlyCPUAndMemory ? { nodeName, ...(memory && { memory }) } : node,
      pods: onlyNode ? [] : pods,
    };
  }

  diskLayout() {
    return this.layout();
  }

  memoryAvailable() {
    return { capacityBytes: GI };
  }

  watchMemory(_: unknown, onCrossed: (crossing: { isBelow: boolean }) => void) {
    this.#crossed = onCrossed;
    return { stop: () => undefined };
  }

  watchPressure(_: unknown, onCrossed: (crossing: { isAbove: boolean; resource: 'io' | 'memory' }) => void) {
    this.stalls = (left) => {
      this.left = { ...this.left, ...left };
      onCrossed({ isAbove: true, resource: left.ioStall === undefined ? 'memory' : 'io' });
    };
    return { stop: () => undefined };
  }

  /** The pressure watch reports that tasks wait longer than a threshold allows. */
  stalls: (left: Left) => void = () => {
    throw new Error('pressure is not watched');
  };

  /** Sets the free memory, and the memory watch reports that memory is short. */
  memoryGoes(left: number): void {
    this.left = { ...this.left, memory: left };
    this.#crossed({ isBelow: true });
  }
}

export class EvictionBed {
  readonly ground: PathNode = simulatedPathNode();
  readonly figures = new Figures(() => this.ground.clock.now());
  readonly events: string[] = [];
  readonly nodeEvents: string[] = [];
  readonly reclaimed: string[] = [];
  readonly measurements = new RecordedMeasurements();
  /** UIDs of pods whose stop hangs. */
  readonly hung = new Set<string>();
  #agent: NodeAgent | undefined;

  get agent(): NodeAgent {
    if (this.#agent === undefined) throw new Error('the agent has not been started');
    return this.#agent;
  }

  /** How the removal of containers and images changes the disk. */
  onReclaim: (what: string) => unknown = () => undefined;
  /** How an eviction changes the node. */
  onEviction: (name: string) => unknown = () => (this.figures.left = { memory: 500, disk: 50, pids: 900 });

  async start(settings: Partial<EvictionSettings>, cluster?: ClusterParts): Promise<void> {
    const remove = (what: string) => () => {
      this.reclaimed.push(what);
      return Promise.resolve(this.onReclaim(what)).then(() => undefined);
    };
    const reclaimer = { deleteDeadContainers: remove('containers'), deleteUnusedImages: remove('images') };
    const parts: NodeParts = { ...this.ground.open(), reclaimer };
    const agent = agentOn(this.ground, parts, {
      wrapEffects: (effects) => ({
        ...effects,
        stopPod: async (context, signal) => {
          if (this.hung.has(context.uid)) await aborted(signal);
          signal.throwIfAborted();
          return effects.stopPod(context, signal);
        },
      }),
      ...(cluster && { cluster: () => cluster }),
      measurements: this.measurements,
      eviction: { configuration: settingsWith(settings), stats: () => Promise.resolve(this.figures) },
      recorder: {
        event: ({ name }, _type, reason) => {
          this.events.push(`${name} ${reason}`);
          if (reason === 'Evicted') this.onEviction(name);
        },
        nodeEvent: (type, reason, message) => void this.nodeEvents.push(`${type} ${reason} ${message}`),
      },
    });
    this.#agent = agent;
    agent.start();
    await this.ground.until('the runtime to be ready', () => agent.supervisor.runtimeProblem === undefined);
    agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
  }

  stop(): Promise<unknown> {
    return this.agent.stop();
  }

  async run(...pods: Pod[]): Promise<void> {
    this.agent.supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods });
    for (const { metadata } of pods) await this.untilState(metadata.name, 'Syncing.Settled');
  }

  state(name: string): string | undefined {
    const entry = this.agent.supervisor.registry.get(name);
    return entry && stateName(entry.actor.getSnapshot().value);
  }

  untilState(name: string, wanted: string): Promise<void> {
    const what = `${name} to be in ${wanted}, not ${this.state(name)}`;
    return this.ground.until(what, () => this.state(name) === wanted);
  }

  statusOf(name: string) {
    return this.agent.statusManager.get(name);
  }

  conditions() {
    return this.agent.nodeFacts().conditions;
  }

  /** Lets the period pass: everything is measured again. */
  pass(): Promise<void> {
    return this.ground.clock.advance(10_000);
  }

  evicted(): readonly (string | undefined)[] {
    return this.events.filter((event) => event.endsWith(' Evicted')).map((event) => event.split(' ')[0]);
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve());
  });

export function lastingPod(name: string, more: RequestingPod = {}): Pod {
  const made = requestingPod(name, { terminationGracePeriodSeconds: 5, ...more });
  const [container] = made.spec.containers;
  return { ...made, spec: { ...made.spec, containers: [{ ...container!, command: LASTING_COMMAND }] } };
}
