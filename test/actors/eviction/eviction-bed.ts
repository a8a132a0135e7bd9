/** Eviction by the production agent on a simulated runtime, of a node that is measured as the test says. */
import type { EvictionStats } from '../../../src/actors/eviction/eviction-figures.ts';
import type { NodeAgent } from '../../../src/actors/node-agent.ts';
import type { EvictionSettings } from '../../../src/policies/eviction/pass.ts';
import type { NodeParts } from '../../../src/runtime/node/pod-node.ts';
import { stateName } from '../../../src/simulation/judges/pod-states.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { SummaryOptions } from '../../../src/runtime/stats/stats-provider.ts';
import type { PodStats, Summary } from '../../../src/types/stats.ts';
import { agentOn, type PathNode, LASTING_COMMAND, simulatedPathNode } from '../../paths/path-node.ts';
import { requestingPod, type RequestingPod } from '../../support/admission.ts';
import { GI, type Left, nodeWith, settingsWith } from '../../support/eviction.ts';

/** A node on which that much is left, and pods that use that much. */
class Figures implements EvictionStats {
  left: Left = { memory: 500, disk: 50, pids: 900 };
  pods: readonly PodStats[] = [];
  looks = 0;
  /** Of each look, what was asked for. */
  readonly asked: SummaryOptions[] = [];
  looksAtPods = 0;
  afterLook = (): unknown => undefined;
  problem: Error | undefined;
  /** Whoever wants to know more than what the kernel tells waits for as long as he likes. */
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
    this.looks += 1;
    // Here everything takes no time at all; yet each look is later than the one before.
    const node = nodeWith({ ...this.left, nowMs: this.nowMs() + this.looks });
    const { nodeName, memory } = node;
    if (!onlyNode) this.looksAtPods += 1;
    this.afterLook();
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

  /** Tasks have come to wait longer than they may, and whoever watches that says so. */
  stalls: (left: Left) => void = () => {
    throw new Error('nobody watches pressure');
  };

  /** The node has come to be short of memory, and whoever watches it says so. */
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
  /** UIDs of pods whose stop does not come to an end. */
  readonly hung = new Set<string>();
  #agent: NodeAgent | undefined;

  get agent(): NodeAgent {
    if (this.#agent === undefined) throw new Error('the agent has not been started');
    return this.#agent;
  }

  /** What removing does for the disk. */
  onReclaim: (what: string) => unknown = () => undefined;
  /** What an eviction does for the node. */
  onEviction: (name: string) => unknown = () => (this.figures.left = { memory: 500, disk: 50, pids: 900 });

  async start(settings: Partial<EvictionSettings>): Promise<void> {
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
    return entry && stateName(entry.actor.getSnapshot());
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

  /** The node is looked at once more. */
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
