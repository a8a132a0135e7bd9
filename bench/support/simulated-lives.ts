/** Pods that live and end on simulated nodes, as fast as the agents take them: nothing waits, nothing fails. */
import { testNode } from '../../test/support/admission.ts';
import { Subject } from 'rxjs';
import { createActor } from 'xstate';
import { NodeAgent } from '../../src/actors/node-agent.ts';
import { podMachine, type PodEvent } from '../../src/machines/pod-machine.ts';
import type { SupervisorEvent } from '../../src/machines/supervisor-machine.ts';
import { NO_LATENCIES } from '../../src/runtime/simulated/latencies.ts';
import { SimulatedRuntime } from '../../src/runtime/simulated/simulated-runtime.ts';
import { simulatedNode } from '../../src/simulation/node/simulated-node.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

const nothing = (): void => undefined;
const NO_ACTIONS = {
  ...{
    requestStart: nothing,
    startSync: nothing,
    abortSync: nothing,
    startStop: nothing,
    abortStop: nothing,
  },
  ...{ startCleanup: nothing, armResync: nothing, disarmResync: nothing, answerWaiters: nothing },
  ...{ answerThisWaiter: nothing, reportTerminated: nothing, reportFinished: nothing },
};

class BenchNode {
  readonly #pods: readonly Pod[];
  readonly #events = new Subject<SupervisorEvent>();
  readonly #agent: NodeAgent;

  constructor(clock: VirtualClock, node: number, pods: number) {
    this.#pods = Array.from({ length: pods }, (_, index) => podOf(node, index));
    const runtime = new SimulatedRuntime({ clock, random: () => 0.5, latencies: NO_LATENCIES }).connect();
    const faults = { mount: 0, release: 0, pull: 0 };
    const facts = testNode({ allocatable: { cpu: '1', memory: '1Gi', pods: String(pods) } });
    this.#agent = new NodeAgent({
      parts: {
        runtime,
        node: simulatedNode({
          runtime,
          disk: new Map(),
          now: () => 0,
          random: () => 0.5,
          faults: () => faults,
        }),
        start: nothing,
        stop: () => Promise.resolve(),
      },
      sources: ['file'],
      configuration: this.#events,
      clock,
      random: () => 0.5,
      hostIPs: ['192.0.2.1'],
      syncFrequencyMs: 60_000,
      nodeFacts: () => facts,
      preemptionLowerPriorityFirst: true,
      maxContainerRestartPeriodMs: 300_000,
      maximumDeadContainersPerContainer: 1,
      startsAtOnce: 16,
      recorder: { event: nothing, nodeEvent: nothing },
      logger: { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing },
    });
    this.#agent.start();
  }

  add(): void {
    this.#events.next({ type: 'CONFIG.ADD', source: 'file', pods: this.#pods });
    this.#events.next({ type: 'SOURCE_SEEN', source: 'file' });
  }

  remove(): void {
    this.#events.next({ type: 'CONFIG.REMOVE', source: 'file', pods: this.#pods });
  }

  /** Whether all pods run, as far as their charts know. */
  get isUp(): boolean {
    const entries = [...this.#agent.supervisor.registry.entries()];
    return (
      entries.length === this.#pods.length &&
      entries.every(({ actor }) => actor.getSnapshot().matches({ Syncing: 'Settled' }))
    );
  }

  get isEmpty(): boolean {
    return this.#agent.supervisor.registry.size === 0;
  }

  async stop(): Promise<void> {
    await this.#agent.stop();
  }
}

function podOf(node: number, index: number): Pod {
  const name = `pod-${String(index)}`;
  return {
    metadata: { name, namespace: 'default', uid: `uid-${String(node)}-${String(index)}` },
    spec: {
      containers: [{ name: 'main', image: 'registry.example/app:1', command: ['run'] }],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
    },
  };
}

export interface Lives {
  readonly livesPerSecond: number;
  /** Of the same number of bare charts, led through the same states. */
  readonly bareLivesPerSecond: number;
  /** While all pods run. */
  readonly heapPerPodKiB: number;
  /** Of the process, while all pods run. */
  readonly residentMiB: number;
}

const MIB = 2 ** 20;
/** Of virtual time: more than any step of a life takes where nothing waits. */
const MAX_STEPS = 10_000;

export async function measureLives(nodes: number, pods: number, collectGarbage: () => void): Promise<Lives> {
  const clock = new VirtualClock();
  // What is loaded and compiled once is not a life's cost.
  await liveThrough(clock, [new BenchNode(clock, -1, 100)], () => undefined);
  const all = Array.from({ length: nodes }, (_, node) => new BenchNode(clock, node, pods));
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let memory = process.memoryUsage();
  const lifeMs = await liveThrough(clock, all, () => {
    collectGarbage();
    memory = process.memoryUsage();
  });
  for (const node of all) await node.stop();
  const count = nodes * pods;
  return {
    livesPerSecond: count / (lifeMs / 1000),
    bareLivesPerSecond: count / (bareLives(count) / 1000),
    heapPerPodKiB: (memory.heapUsed - before) / count / 1024,
    residentMiB: memory.rss / MIB,
  };
}

/** Milliseconds, without what is done in the middle. */
async function liveThrough(
  clock: VirtualClock,
  nodes: readonly BenchNode[],
  inTheMiddle: () => void,
): Promise<number> {
  // The sources are heard once the runtime has said what it holds.
  await clock.advance(0);
  const began = performance.now();
  for (const node of nodes) node.add();
  await until(clock, () => nodes.every(({ isUp }) => isUp));
  const up = performance.now();
  inTheMiddle();
  const middle = performance.now();
  for (const node of nodes) node.remove();
  await until(clock, () => nodes.every(({ isEmpty }) => isEmpty));
  return performance.now() - middle + (up - began);
}

async function until(clock: VirtualClock, isSo: () => boolean): Promise<void> {
  for (let step = 0; !isSo(); step++) {
    if (step > MAX_STEPS) throw new Error('the pods do not get there');
    await clock.advance(1);
  }
}

/** Milliseconds for so many charts alone: from SyncPodCreate to Terminated.Finished, with actions that do nothing. */
function bareLives(count: number): number {
  const machine = podMachine.provide({ actions: NO_ACTIONS });
  const began = performance.now();
  for (let index = 0; index < count; index++) {
    const pod = podOf(0, index);
    const { uid } = pod.metadata;
    const actor = createActor(machine, { input: { uid, fullName: uid, runtimeHolds: 'nothing' } }).start();
    const events: PodEvent[] = [
      { type: 'SyncPodCreate', pod },
      { type: 'START_GRANTED' },
      { type: 'SYNC_DONE', terminal: false, again: false },
      { type: 'SyncPodKill' },
      { type: 'STOP_DONE' },
      { type: 'CLEANUP_DONE' },
    ];
    for (const event of events) actor.send(event);
    actor.stop();
  }
  return performance.now() - began;
}
