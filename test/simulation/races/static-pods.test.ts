/** Static pods whose manifests are removed and created again faster than the pods can end. */
import { describe, expect, test } from '@jest/globals';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const TIMES = 50;
/** A container that takes a moment to end. */
const SPEC = podSpec({ containers: [container('main', 'run term-takes=2s')] });

/** Each sandbox and each container of a pod name had ended before the next one started. */
function expectOneAtATime(agent: SimulatedAgent, name: string): void {
  for (const kind of [/^sandbox .* is (not )?ready/, /^container main .* (?:runs|(has ended))/]) {
    const changes = agent.told(name, kind).map(({ what }) => (kind.exec(what)?.[1] ? 'ends' : 'begins'));
    expect(changes).toEqual(changes.map((_, index) => (index % 2 === 0 ? 'begins' : 'ends')));
  }
}

const incarnationsOf = (agent: SimulatedAgent, name: string) => agent.told(name, /^xstate.init/).length;
const startsOf = (agent: SimulatedAgent, name: string) => agent.told(name, /^container main .* runs/).length;

describe('a static pod that is recreated with its fixed UID, 50 times', () => {
  async function running() {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', SPEC, 'file');
    await agent.untilState(uid, 'Syncing.Settled');
    return { agent, uid };
  }

  const recreate = (agent: SimulatedAgent) => agent.apply('web', { kind: 'flap', times: 1 });

  async function expectOneRuns(agent: SimulatedAgent, uid: string) {
    await agent.untilState(uid, 'Syncing.Settled');
    expectOneAtATime(agent, 'web');
    expect(await agent.running()).toMatchObject([{ metadata: { name: 'main' } }]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  }

  test.each([
    [0, 2],
    [1, 2],
    [20, 2],
    [150, 4],
    [1_000, 10],
    [3_000, TIMES],
  ])(
    'every %d ms: each incarnation ends before the next one starts, and one runs in the end',
    async (everyMs, incarnations) => {
      const { agent, uid } = await running();
      for (let time = 0; time < TIMES; time++) {
        recreate(agent);
        await agent.clock.advance(everyMs);
      }
      await expectOneRuns(agent, uid);
      expect(startsOf(agent, 'web')).toBeGreaterThanOrEqual(incarnations);
      expect(incarnationsOf(agent, 'web')).toBeLessThanOrEqual(TIMES + 1);
    },
  );

  test('while the agent is killed several times: each incarnation ends before the next one starts', async () => {
    const { agent, uid } = await running();
    for (let time = 0; time < TIMES; time++) {
      recreate(agent);
      if (time % 5 === 0) agent.crash(300);
      await agent.clock.advance(700);
    }
    await expectOneRuns(agent, uid);
    expect(startsOf(agent, 'web')).toBeGreaterThan(5);
  });

  test('and then removed: it ends, and does not start again', async () => {
    const { agent, uid } = await running();
    for (let time = 0; time < TIMES; time++) {
      recreate(agent);
      await agent.clock.advance(20);
    }
    agent.delete('web');
    await agent.untilState(uid, '');
    await agent.clock.advance(60_000);
    expect(await agent.running()).toEqual([]);
    expectOneAtATime(agent, 'web');
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('static pods with one full name and different UIDs (rule 10)', () => {
  test('if a manifest changes 50 times and the agent is killed several times, one pod runs at a time, and the last one in the end', async () => {
    const agent = new SimulatedAgent();
    let uid = '';
    for (let time = 0; time < TIMES; time++) {
      uid = agent.create('web', SPEC, 'file');
      if (time % 10 === 9) agent.crash(300);
      await agent.clock.advance(700);
    }
    await agent.untilState(uid, 'Syncing.Settled');
    expectOneAtATime(agent, 'web');
    expect(startsOf(agent, 'web')).toBeGreaterThan(5);
    expect(await agent.running()).toMatchObject([{ labels: { 'io.kubernetes.pod.uid': uid } }]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('a pod that is removed while it waits for the name is skipped', async () => {
    const agent = new SimulatedAgent();
    const first = agent.create('web', SPEC, 'file');
    await agent.untilState(first, 'Syncing.Settled');
    const second = agent.create('web', SPEC, 'file');
    await agent.clock.advance(500);
    expect(agent.state(second)).toBe('Syncing.Starting.AwaitingName');
    const third = agent.create('web', SPEC, 'file');
    await agent.untilState(third, 'Syncing.Settled');
    expect(agent.told(second, /^ADMITTED|^RunPodSandbox/)).toEqual([]);
    expectOneAtATime(agent, 'web');
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('a static pod that has ended, of which nothing is left in the runtime', () => {
  const ENDS_AT_ONCE = podSpec({ containers: [container('main', 'fail')], restartPolicy: 'Never' });

  /** As where a disk is short, or a person tidies up. */
  async function removeDead(agent: SimulatedAgent, uid: string): Promise<void> {
    const removed = agent.runtime
      .sandboxesOf(uid)
      .map(({ id }) => agent.runtime.connect().removePodSandbox(id));
    await agent.clock.advance(1_000);
    await Promise.all(removed);
  }

  test('and that ends again in the first sync of the next agent: its mirror pod shows the end of its last life', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('job', ENDS_AT_ONCE, 'file');
    for (let life = 1; life <= 3; life++) {
      await agent.untilState(uid, 'Terminated.Finished');
      await agent.untilSettled();
      expect(agent.told('job', /^container main .* has ended/)).toHaveLength(life);
      await removeDead(agent, uid);
      // The next agent knows the API server's objects before it can sync a pod.
      agent.apply('', { kind: 'stop runtime', downMs: 1_000 });
      agent.crash();
      await agent.untilState(uid, 'Syncing.Working');
    }
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('a static pod that starts nothing more, of which a part is left in the runtime when the next agent comes', () => {
  async function partRemoved(endsAfter: string) {
    const agent = new SimulatedAgent();
    const containers = [
      container('first', 'run exit-after=5s'),
      container('second', `run exit-after=${endsAfter}`),
    ];
    const uid = agent.create('job', podSpec({ restartPolicy: 'Never', containers }), 'file');
    await agent.clock.advance(30_000);
    agent.crash(10_000);
    const [sandbox] = agent.runtime.sandboxesOf(uid);
    const removed = agent.runtime.connect().removeContainer(sandbox!.containers[0]!.id);
    agent.runtime.killSandbox(sandbox!.id, { withContainers: true });
    await agent.clock.advance(60_000);
    await removed;
    expect(agent.state(uid)).toBe('Terminated.Finished');
    const { phase, containerStatuses = [] } = agent.host.sources.object('job')?.status ?? {};
    return { agent, phase, exitCodes: containerStatuses.map(({ state }) => state?.terminated?.exitCode) };
  }

  test('and that had ended: its mirror pod shows that it succeeded, and nothing more is written', async () => {
    const { agent, phase, exitCodes } = await partRemoved('5s');
    expect([phase, exitCodes]).toEqual(['Succeeded', [0, 0]]);
    const before = agent.history.length;
    await agent.clock.advance(60_000);
    expect(agent.told('job', /^patch/, before)).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('and that ended meanwhile: it has failed, and the container that is gone ended as its mirror pod says', async () => {
    const { agent, phase, exitCodes } = await partRemoved('60s');
    expect([phase, exitCodes]).toEqual(['Failed', [0, 137]]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

test('a mirror pod is deleted, with a grace period, just as its static pod has ended: another one shows the end', async () => {
  const agent = new SimulatedAgent();
  const once = podSpec({ restartPolicy: 'Never', containers: [container('main', 'run exit-after=5s')] });
  const uid = agent.create('job', once, 'file');
  await agent.untilState(uid, 'Terminated.Finished');
  agent.apply('job', { kind: 'delete mirror', graceSeconds: 30 });
  const mirrorPod = () => agent.host.sources.object('job');
  expect(mirrorPod()?.metadata.deletionTimestamp).toBeDefined();
  const isNew = () => mirrorPod()?.metadata.deletionTimestamp === undefined;
  await agent.until(() => isNew() && mirrorPod()?.status?.phase === 'Succeeded', 'the end to be shown');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a static pod that waits for room starts when the node object says that the node has become larger', async () => {
  const room = (cpu: string) => simulatedNodeFacts({ cpu, memory: '4Gi', pods: '100' });
  const agent = new SimulatedAgent();
  agent.nodeFacts = room('1');
  const resources = { requests: { cpu: '2' } };
  const uid = agent.create('web', podSpec({ containers: [container('main', 'run', { resources })] }), 'file');
  await agent.untilState(uid, 'Syncing.Starting.AwaitingRoom');
  // Nothing is left that would ask again for another reason.
  await agent.clock.advance(60_000);
  agent.nodeFacts = room('3');
  await agent.untilState(uid, 'Syncing.Settled');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});
