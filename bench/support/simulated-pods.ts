/** Pods that start and end on simulated nodes, as fast as the agents can: no call waits or fails. */
import { Subject } from 'rxjs';
import { createActor } from 'xstate';
import type { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import type { PodEvent } from '../../src/agent/machines/pod-machine.ts';
import type { SupervisorEvent } from '../../src/agent/machines/supervisor-machine.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { testNode } from '../../test/support/admission.ts';
import { LEAVE_TO_START, podChart } from '../../test/support/pod-chart.ts';
import { instantAgent } from './instant-agent.ts';

class BenchNode {
  readonly #pods: readonly Pod[];
  readonly #events = new Subject<SupervisorEvent>();
  readonly #agent: NodeAgent;

  constructor(clock: VirtualClock, node: number, pods: number) {
    this.#pods = Array.from({ length: pods }, (_, index) => podOf(node, index));
    this.#agent = instantAgent({
      clock,
      configuration: this.#events,
      nodeFacts: testNode({ allocatable: { cpu: '1', memory: '1Gi', pods: String(pods) } }),
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

  /** Whether all pods have settled, according to their charts. */
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

export interface PodCosts {
  readonly livesPerSecond: number;
  /** Lives per second of bare charts that go through the same states. */
  readonly bareLivesPerSecond: number;
  /** The heap while all pods run. */
  readonly heapPerPodKiB: number;
  /** The resident memory of the process while all pods run. */
  readonly residentMiB: number;
}

const MIB = 2 ** 20;
/** A limit of virtual milliseconds: without waits, all pods change their states sooner. */
const MAX_STEPS = 10_000;

export async function measurePods(
  nodes: number,
  pods: number,
  collectGarbage: () => void,
): Promise<PodCosts> {
  const clock = new VirtualClock();
  // The time to load and compile the code does not count.
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

/** Milliseconds, without `inTheMiddle`. */
async function liveThrough(
  clock: VirtualClock,
  nodes: readonly BenchNode[],
  inTheMiddle: () => void,
): Promise<number> {
  // The agent reads its sources after it has listed the runtime's pods.
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

async function until(clock: VirtualClock, holds: () => boolean): Promise<void> {
  for (let step = 0; !holds(); step++) {
    if (step > MAX_STEPS) throw new Error('the pods do not start or end');
    await clock.advance(1);
  }
}

/** Milliseconds for `count` bare charts, from SyncPodCreate to Terminated.Finished, with actions that do nothing. */
function bareLives(count: number): number {
  const began = performance.now();
  for (let index = 0; index < count; index++) {
    const pod = podOf(0, index);
    const { uid } = pod.metadata;
    const actor = createActor(podChart, { input: { uid, fullName: uid, runtimeHolds: 'nothing' } }).start();
    const events: PodEvent[] = [
      { type: 'SyncPodCreate', pod },
      ...LEAVE_TO_START,
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
