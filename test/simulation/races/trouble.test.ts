/** Pods that end while the runtime has faults, and pods that start while their old containers are removed. */
import { describe, expect, test } from '@jest/globals';
import { answerTo } from '../../../src/simulation/runtime/chance.ts';
import { sandboxConfig } from '../runtime/simulated-bed.ts';
import { ALL_WELL, CHANCE, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

describe('the sandbox creation of a deleted pod hangs', () => {
  /** The client's deadline for RunPodSandbox. */
  const DEADLINE_MS = 240_000;

  /** `lands` chooses whether and when the hanging call is carried out. All other chances are random. */
  function hanging(lands: (value: number) => boolean): SimulatedAgent {
    const value = Array.from({ length: 1_000 }, (_, index) => index / 1_000).find(lands) ?? NaN;
    const random = (key: string) => (key === 'uid-1/RunPodSandbox/1' ? value : CHANCE(key));
    const agent = new SimulatedAgent(random);
    agent.runtime.podFaults.set('uid-1', { calls: { RunPodSandbox: { hang: 1 } } });
    return agent;
  }

  const landsUnawaited = (value: number) => answerTo('landsUnawaited', value) < 0.5;
  const late = (value: number) => answerTo('landsLate', value);

  async function deleted(agent: SimulatedAgent): Promise<string> {
    const uid = agent.create('web');
    await agent.untilCalled(uid, 'RunPodSandbox');
    agent.delete('web', 1);
    await agent.untilState(uid, '');
    return uid;
  }

  test.each([
    ['is never carried out', (value: number) => !landsUnawaited(value), 0],
    ['is carried out before its deadline', (value: number) => landsUnawaited(value) && late(value) < 0.5, 1],
  ])('and %s: the pod ends when the deadline of the call has passed', async (_, lands, sandboxes) => {
    const agent = hanging(lands);
    const uid = await deleted(agent);
    expect([agent.nowMs > DEADLINE_MS, agent.nowMs < DEADLINE_MS + 1_000]).toEqual([true, true]);
    expect(agent.told(uid, /^sandbox .* is ready/)).toHaveLength(sandboxes);
    expect(agent.runtime.sandboxesOf(uid)).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test.each([
    ['', {}],
    [', without an event', { lost: 1 }],
  ])('and is carried out after the end of the pod%s: the new sandbox is removed', async (_, events) => {
    const agent = hanging((value) => landsUnawaited(value) && late(value) > 0.8);
    const uid = await deleted(agent);
    agent.runtime.podFaults.set(uid, { events });
    await agent.until(() => agent.runtime.isRunning(uid), 'the sandbox to be there');
    expect(agent.nowMs).toBeGreaterThan(DEADLINE_MS + 1_000);
    await agent.clock.advance(15_000);
    expect(agent.runtime.sandboxesOf(uid)).toEqual([]);
    expect(agent.state(uid)).toBe('');
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

test('if the image pull of a deleted pod hangs, without a deadline, the pod ends at once', async () => {
  const agent = new SimulatedAgent();
  agent.runtime.podFaults.set('uid-1', { calls: { PullImage: { hang: 1 } } });
  const uid = agent.create('web');
  await agent.untilCalled(uid, 'PullImage');
  await agent.clock.advance(3_600_000);
  const deletedAtMs = agent.nowMs;
  agent.delete('web');
  await agent.untilState(uid, '');
  expect(agent.nowMs - deletedAtMs).toBeLessThan(1_000);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('if volumes cannot be mounted, the pod is tried again after 0.5 s, 1 s, 2 s …, and then starts', async () => {
  const triedAtMs: number[] = [];
  const random = (key: string) => {
    if (!key.startsWith('uid-1/mount/')) return CHANCE(key);
    triedAtMs.push(agent.nowMs);
    return triedAtMs.length <= 4 ? 0 : 1;
  };
  const agent = new SimulatedAgent(random, ['volumes']);
  const uid = agent.create('web');
  await agent.until(() => agent.status(uid)?.phase === 'Running', 'the pod to run');
  const pausesMs = triedAtMs.slice(1).map((atMs, index) => atMs - (triedAtMs[index] ?? 0));
  // A sync takes a moment, too.
  expect(pausesMs.map((pauseMs) => Math.floor(pauseMs / 500) * 500)).toEqual([500, 1_000, 2_000, 4_000]);
  agent.host.stopFaults();
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('if another client starts something during a stop, the stop is repeated (rule 7)', async () => {
  const agent = new SimulatedAgent();
  const uid = agent.create('web', podSpec({ containers: [container('main', 'run term-takes=2s')] }));
  await agent.untilState(uid, 'Syncing.Settled');
  const kill = agent.kill(uid);
  void agent.runtime.connect().runPodSandbox(sandboxConfig(uid, 7));
  await agent.untilState(uid, 'Terminated.Finished');
  expect(agent.told(uid, /^STOP_/)).toMatchObject([
    { what: 'STOP_FAILED -> Terminating.BackingOff' },
    { what: 'STOP_DONE -> Terminated.CleaningUp' },
  ]);
  expect(agent.runtime.isRunning(uid)).toBe(false);
  expect(await agent.verdict()).toEqual(ALL_WELL);
  expect(kill.answers).toHaveLength(1);
});

describe('the runtime restarts while a pod ends', () => {
  const SPEC = podSpec({ containers: [container('main', 'run ignore-term'), container('second')] });

  test('the pod does not become Terminated while the runtime is down, and ends when it is back', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', SPEC);
    await agent.untilState(uid, 'Syncing.Settled');
    const kill = agent.kill(uid, { podTerminationGracePeriodSecondsOverride: 10 });
    await agent.clock.advance(5_000);
    agent.runtime.goDown();
    await agent.clock.advance(60_000);
    expect(agent.state(uid)).toMatch(/^Terminating/);
    expect(agent.runtime.isRunning(uid)).toBe(true);
    expect(kill.answers).toEqual([]);

    agent.runtime.comeUp();
    const backAtMs = agent.nowMs;
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.nowMs - backAtMs).toBeLessThan(20_000);
    expect(agent.runtime.isRunning(uid)).toBe(false);
    expect(await agent.verdict()).toEqual(ALL_WELL);
    expect(kill.answers).toHaveLength(1);
  });

  test('the pod ends if the runtime restarts at any moment of the end', async () => {
    const terminated = async (arrange: (agent: SimulatedAgent) => void) => {
      const agent = new SimulatedAgent();
      const uid = agent.create('web', SPEC);
      await agent.untilState(uid, 'Syncing.Settled');
      arrange(agent);
      agent.delete('web', 2);
      await agent.untilState(uid, '');
      return agent;
    };
    let before = 0;
    const whole = await terminated((agent) => (before = agent.history.length));
    for (let moment = before + 1; moment <= whole.history.length; moment++) {
      const agent = await terminated((begun) =>
        begun.atMoment(moment, () => {
          begun.runtime.goDown();
          begun.clock.setTimeout(() => begun.runtime.comeUp(), 5_000);
        }),
      );
      const after = whole.history[moment - 1]?.what;
      const outcome = { inTime: agent.nowMs < 40_000, ...(await agent.verdict()) };
      expect({ after, ...outcome }).toEqual({ after, inTime: true, ...ALL_WELL });
    }
  });
});

describe('a UID is created again while its old containers are being removed', () => {
  /** The new sandbox starts only after the old one has been removed. */
  async function expectStartAfterRemoval(agent: SimulatedAgent, uid: string) {
    await agent.untilState(uid, 'Syncing.Settled');
    const order = agent.told(uid, /^RemovePodSandbox .*: done|^sandbox .* is ready/).map(({ what }) => what);
    expect(order).toEqual([
      'sandbox uid-1.s1 is ready',
      'RemovePodSandbox uid-1.s1: done',
      'sandbox uid-1.s2 is ready',
    ]);
    expect(await agent.running()).toMatchObject([{ id: 'uid-1.c2' }]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  }

  test.each(['RemoveContainer', 'RemovePodSandbox'] as const)(
    'during %s of its old container or sandbox: it starts after that',
    async (call) => {
      const agent = new SimulatedAgent();
      const uid = agent.create('web', podSpec(), 'file');
      await agent.untilState(uid, 'Syncing.Settled');
      agent.runtime.podFaults.set(uid, { calls: { [call]: { slow: 1 } } });
      agent.delete('web');
      await agent.untilCalled(uid, call);
      agent.apply('web', { kind: 'create again' });
      await expectStartAfterRemoval(agent, uid);
    },
  );

  test('while a new agent removes its old containers: it starts after that', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', podSpec(), 'file');
    await agent.untilState(uid, 'Syncing.Settled');
    agent.crash(1_000);
    agent.delete('web');
    for (const { id } of agent.runtime.sandboxesOf(uid))
      agent.runtime.killSandbox(id, { withContainers: true });
    agent.runtime.podFaults.set(uid, { calls: { RemoveContainer: { slow: 1 } } });
    await agent.untilCalled(uid, 'RemoveContainer');
    agent.apply('web', { kind: 'create again' });
    await expectStartAfterRemoval(agent, uid);
  });
});
