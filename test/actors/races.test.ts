/** Many pods, changed at random, on the real runtime, while the invariants of the lifecycle are watched from outside. */
import { afterEach, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { startAgent, staticPod, type TestAgent } from '../support/agent.ts';
import { seededRandom, type SeededRandom } from '../support/random.ts';
import { waitFor } from '../support/wait-for.ts';
import { InvariantWatch } from './invariant-watch.ts';

const NAMES = Array.from({ length: 50 }, (_, index) => `pod-${String(index)}`);
const STEPS = 250;

const shell = (name: string, script: string, more = {}) => ({ name, command: ['sh', '-c', script], ...more });
const SPECS: Partial<Pod['spec']>[] = [
  {},
  { containers: [shell('main', 'sleep 1000'), shell('second', 'sleep 1000')] },
  { containers: [shell('main', 'exit 0')], restartPolicy: 'Never' },
  { containers: [shell('main', 'exit 1')], restartPolicy: 'OnFailure' },
  { containers: [shell('main', 'sleep 0.1; exit 1')] },
  { containers: [{ name: 'main', command: ['/no/such/program'] }] },
  { containers: [{ name: 'main', image: 'no-command' }] },
  { initContainers: [shell('init', 'exit 0'), shell('side', 'sleep 1000', { restartPolicy: 'Always' })] },
  { initContainers: [shell('init', 'exit 1')], restartPolicy: 'Never' },
  // Takes a moment to end.
  { containers: [shell('main', "trap 'sleep 0.2; exit 0' TERM; sleep 1000 & wait")] },
  // Has to be killed.
  { containers: [shell('main', "trap '' TERM; while :; do sleep 1; done")], terminationGracePeriodSeconds: 1 },
  { containers: [shell('main', 'sleep 1000', { lifecycle: { postStart: { sleep: { seconds: 1 } } } })] },
];

let agent: TestAgent | undefined;
afterEach(async () => agent?.cleanUp());

/** What a node's sources want, and what else may happen to it, by a seed. */
class Storm {
  readonly #random: SeededRandom;
  readonly #desired = new Map<string, Pod>();
  #lastUid = 0;
  agent: TestAgent;
  watch: InvariantWatch;

  constructor(seed: number, running: TestAgent) {
    this.#random = seededRandom(seed);
    this.agent = running;
    this.watch = new InvariantWatch(running);
  }

  get desired(): Pod[] {
    return [...this.#desired.values()];
  }

  async step(): Promise<void> {
    for (let many = this.#random.integer(1, 4); many > 0; many--) await this.#happen();
    await this.watch.look();
  }

  async calm(): Promise<void> {
    for (const pod of this.desired) this.#remove(pod);
    const { supervisor } = this.agent;
    const isEmpty = () => {
      supervisor.send({ type: 'HOUSEKEEPING' });
      return supervisor.registry.size === 0;
    };
    await waitFor(isEmpty, { what: 'every pod to be forgotten', timeoutMs: 15_000 });
    await this.watch.settle();
  }

  async #happen(): Promise<void> {
    const name = this.#random.pick(NAMES);
    const pod = this.#desired.get(name);
    if (pod === undefined) {
      this.#add(this.#newPod(name));
      return;
    }
    const events = [
      () => this.#remove(pod),
      () => {
        this.#remove(pod);
        this.#add(this.#newPod(name));
      },
      // The manifest goes and comes back.
      () => {
        this.#remove(pod);
        this.#add(pod);
      },
      () => this.#update({ ...pod, metadata: { ...pod.metadata, labels: { version: String(++this.#lastUid) } } }),
      () => this.watch.kill(pod.metadata.uid, this.#random.pick([undefined, 1, 2, 30])),
      () => this.agent.supervisor.send({ type: 'SYNC', uids: [pod.metadata.uid] }),
      () => this.agent.supervisor.send({ type: 'HOUSEKEEPING' }),
      () => this.#crash(),
      () => this.#blink(),
    ];
    await this.#random.pick(events)();
  }

  #newPod(name: string): Pod {
    return staticPod(name, `${name}-${String(++this.#lastUid)}`, this.#random.pick(SPECS));
  }

  #add(pod: Pod): void {
    this.#desired.set(pod.metadata.name, pod);
    this.agent.add(pod);
  }

  #update(pod: Pod): void {
    this.#desired.set(pod.metadata.name, pod);
    this.agent.supervisor.send({ type: 'CONFIG.UPDATE', source: 'file', pods: [pod] });
  }

  #remove(pod: Pod): void {
    this.#desired.delete(pod.metadata.name);
    this.agent.remove(pod);
  }

  /** A container dies behind the agent's back. */
  async #crash(): Promise<void> {
    const running = await this.agent.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    if (running.length > 0) await this.agent.runtime.stopContainer(this.#random.pick(running).id, 0);
  }

  #blink(): void {
    this.agent.supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'it blinked' });
    this.agent.supervisor.send({ type: 'RUNTIME_READY' });
  }
}

async function expectNothingLeft(running: TestAgent): Promise<void> {
  expect(await running.runtime.listContainers()).toEqual([]);
  expect(await running.runtime.listPodSandbox()).toEqual([]);
}

test.each((process.env['SEEDS'] ?? '1,2').split(',').map(Number))('seed %d: 50 pods come, change and go at random; I1 to I7 hold, and nothing is left', async (seed) => {
  agent = await startAgent();
  const storm = new Storm(seed, agent);
  agent.ready();
  for (let step = 0; step < STEPS; step++) await storm.step();
  await storm.calm();
  expect(storm.watch.violations).toEqual([]);
  expect(storm.watch.unansweredKills).toBe(0);
  expect(storm.watch.starts).toBeGreaterThan(STEPS / 4);
  expect(storm.watch.incarnations).toBeGreaterThan(STEPS / 2);
  await expectNothingLeft(agent);
});
