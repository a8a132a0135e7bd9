/** Many pods that change at random on the real runtime. The invariants of the lifecycle are watched from outside. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { nodeOf } from '../../support/admission.ts';
import { apiPod, startAgent, staticPod, type TestAgent } from '../../support/agent.ts';
import { seededRandom, type SeededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { waitFor } from '../../support/wait-for.ts';
import { InvariantWatch } from './invariant-watch.ts';

const NAMES = Array.from({ length: 50 }, (_, index) => `pod-${String(index)}`);
const STEPS = 100;

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
  // Ignores SIGTERM.
  {
    containers: [shell('main', "trap '' TERM; while :; do sleep 1; done")],
    terminationGracePeriodSeconds: 1,
  },
  { containers: [shell('main', 'sleep 1000', { lifecycle: { postStart: { sleep: { seconds: 1 } } } })] },
];

let agent: TestAgent | undefined;
afterEach(async () => agent?.cleanUp());

/** Changes the wanted pods and the state of the node at random, by a seed. */
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
    await this.watch.check();
  }

  /** Removes all pods. Resolves to all violations when the agent has forgotten every pod. */
  async end(): Promise<readonly string[]> {
    for (const pod of this.desired) this.#remove(pod);
    const { supervisor } = this.agent;
    const isEmpty = () => {
      supervisor.send({ type: 'HOUSEKEEPING' });
      return supervisor.registry.size === 0;
    };
    await waitFor(isEmpty, { what: 'every pod to be forgotten' });
    return this.watch.settle();
  }

  /** Another agent takes over the running pods. Its sources add all wanted pods again. */
  moveTo(other: TestAgent): void {
    this.agent = other;
    this.watch = new InvariantWatch(other);
    other.supervisor.send({ type: 'RUNTIME_READY' });
    other.add(...this.desired);
    other.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
  }

  async #happen(): Promise<void> {
    const name = this.#random.pick(NAMES);
    const pod = this.#desired.get(name);
    if (pod === undefined) {
      this.#add(this.#newPod(name));
      return;
    }
    const events: (() => void | Promise<void>)[] = [
      () => this.#remove(pod),
      () => {
        this.#remove(pod);
        this.#add(this.#newPod(name));
      },
      // The manifest is removed and added again.
      () => {
        this.#remove(pod);
        this.#add(pod);
      },
      () =>
        this.#update({ ...pod, metadata: { ...pod.metadata, labels: { version: String(++this.#lastUid) } } }),
      // Several kills, with growing and shrinking grace periods.
      () => {
        for (let kill = 0; kill < 4; kill++) {
          this.watch.kill(pod.metadata.uid, this.#random.pick([undefined, 1, 2, 3]));
        }
      },
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

  /** Stops a container without the agent. */
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

/** `SEEDS=3,4,5` tries other seeds. */
const SEEDS = (process.env.SEEDS ?? '1').split(',').map(Number);

test.each(SEEDS)(
  'seed %d: while 50 pods are added, changed and removed, I1 to I7 hold, and no pod remains',
  async (seed) => {
    agent = await startAgent();
    const storm = new Storm(seed, agent);
    agent.ready();
    for (let step = 0; step < STEPS; step++) await storm.step();
    expect(await storm.end()).toEqual([]);
    expect(storm.watch.unansweredKills).toBe(0);
    expect(storm.watch.starts).toBeGreaterThan(STEPS / 4);
    expect(storm.watch.incarnations).toBeGreaterThan(STEPS / 2);
    await expectNothingLeft(agent);
  },
);

test.each(SEEDS)(
  'seed %d, I10: the invariants also hold if the agent is replaced several times',
  async (seed) => {
    agent = await startAgent();
    const storm = new Storm(seed, agent);
    agent.ready();
    const violations: string[] = [];
    for (let run = 0; run < 4; run++) {
      for (let step = 0; step < STEPS / 5; step++) await storm.step();
      violations.push(...(await storm.watch.settle()));
      storm.watch.stop();
      await agent.detach();
      agent = await startAgent({ rootDir: agent.rootDir });
      storm.moveTo(agent);
    }
    violations.push(...(await storm.end()));
    expect(violations).toEqual([]);
    expect(storm.watch.unansweredKills).toBe(0);
    await expectNothingLeft(agent);
  },
);

test('rule 9: a pod waits while what an earlier agent has left of its UID is being removed', async () => {
  const begun = Promise.withResolvers<undefined>();
  const removes = Promise.withResolvers<undefined>();
  agent = await startAgent({
    replaced: ({ node }, { rootDir }) => {
      mkdirSync(join(rootDir, 'pods', 'uid-1', 'etc-hosts'), { recursive: true });
      return {
        remove: async (pod) => {
          begun.resolve(undefined);
          await removes.promise;
          await node.remove(pod);
        },
      };
    },
  });
  agent.ready();
  agent.supervisor.send({ type: 'HOUSEKEEPING' });
  await begun.promise;
  agent.add(staticPod('web', 'uid-1'));
  const waiting = agent.state('uid-1');
  removes.resolve(undefined);
  expect(waiting).toBe('Syncing.Starting.AwaitingRemoval');
  await agent.until('uid-1', 'Syncing.Settled');
});

test('I6: a pod that ended while it waited for the runtime does not block the next pod of its name', async () => {
  agent = await startAgent();
  const [first, second] = [staticPod('web', 'uid-1'), staticPod('web', 'uid-2')];
  agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
  agent.add(first);
  agent.remove(first);
  agent.add(second);
  agent.supervisor.send({ type: 'RUNTIME_READY' });
  await agent.until('uid-2', 'Syncing.Settled');
});

test('I7: a kill that comes while a failed actor is being replaced is answered', async () => {
  agent = await startAgent();
  agent.ready();
  agent.add(staticPod('web', 'uid-web'));
  await agent.until('uid-web', 'Syncing.Settled');
  const poison = { type: 'SyncPodUpdate', pod: {} as Pod } as const;
  agent.supervisor.registry.send('uid-web', poison);
  await agent.supervisor.killPod('uid-web');
  expect(await agent.runtime.listContainers({ state: 'CONTAINER_RUNNING' })).toEqual([]);
});

test('a pod that is added again while its old containers are being removed keeps its new logs', async () => {
  const chatty = staticPod('web', 'uid-web', { containers: [shell('main', 'echo hello; sleep 1000')] });
  agent = await startAgent();
  agent.ready();
  agent.add(chatty);
  await agent.until('uid-web', 'Syncing.Settled');
  await agent.detach();
  const { rootDir } = agent;
  agent = await startAgent({ rootDir });
  for (const { id } of await agent.runtime.listPodSandbox()) await agent.runtime.stopPodSandbox(id);
  await agent.detach();

  agent = await startAgent({ rootDir });
  agent.ready();
  agent.add(chatty);
  await agent.until('uid-web', 'Syncing.Settled');
  const [running] = await agent.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
  const { logPath } = await agent.runtime.containerStatus(running!.id);
  const log = () => existsSync(logPath) && readFileSync(logPath, 'utf8').includes('hello');
  await waitFor(log, { what: `hello in ${logPath}` });
});

test('a rejected pod does not count as a pod of the node', async () => {
  agent = await startAgent({ nodeFacts: nodeOf({ pods: '1' }) });
  agent.ready();
  agent.add(...['uid-1', 'uid-2', 'uid-3'].map((uid) => apiPod(uid, uid)));
  await agent.until('uid-3', 'Terminated.Finished');
  expect(agent.statusManager.get('uid-3')?.message).toContain('requested: 1, used: 1, capacity: 1');
});

test('after stop no effect begins, not even after an effect that ignored its abort signal', async () => {
  const begun: string[] = [];
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  agent = await startAgent({
    wrapEffects: (effects) => ({
      ...effects,
      syncPod: async (context, signal) => {
        begun.push(context.uid);
        if (begun.length > 1) await gate;
        const done = await effects.syncPod(context, new AbortController().signal);
        return signal.aborted ? { type: 'SYNC_DONE', terminal: false, again: true } : done;
      },
    }),
  });
  const { supervisor, rootDir } = agent;
  agent.ready();
  agent.add(staticPod('web', 'uid-web'));
  await agent.until('uid-web', 'Syncing.Settled');
  supervisor.registry.send('uid-web', { type: 'SyncPodSync' });
  const stopped = supervisor.stop();
  open(undefined);
  await stopped;
  expect([begun, agent.state('uid-web')]).toEqual([['uid-web', 'uid-web'], 'Syncing.Working']);
  await agent.detach();
  agent = await startAgent({ rootDir });
});
