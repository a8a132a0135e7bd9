/** How long the end of a pod may take, and what shortens it. Times are those of the virtual clock, exact to the millisecond. */
import { describe, expect, test } from '@jest/globals';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

/** The shortest stop that a runtime is asked for. */
const MIN_STOP_MS = 2_000;
/** The longest time that the runtime and the reads around a stop take. */
const CALLS_MS = 300;

const STUBBORN = podSpec({ containers: [container('main', 'run ignore-term')] });

async function settled(spec: PodSpec, agent = new SimulatedAgent()) {
  const uid = agent.create('web', spec);
  await agent.untilState(uid, 'Syncing.Settled');
  return { agent, uid };
}

/** From now on. */
async function untilTerminated(agent: SimulatedAgent, uid: string): Promise<number> {
  const since = agent.nowMs;
  await agent.until(() => agent.state(uid).startsWith('Terminated'), `${uid} to be Terminated`);
  return agent.nowMs - since;
}

describe('a deletion by force (rule 4)', () => {
  test('shortens the stop of a deletion with a long grace period', async () => {
    const { agent, uid } = await settled(STUBBORN);
    agent.delete('web', 30);
    await agent.clock.advance(5_000);
    expect(agent.state(uid)).toBe('Terminating.Stopping');
    agent.delete('web', 1);
    expect(await untilTerminated(agent, uid)).toBeLessThan(MIN_STOP_MS + CALLS_MS);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('counts after several deletions with shorter and shorter grace periods within one millisecond', async () => {
    const { agent, uid } = await settled(STUBBORN);
    for (const graceSeconds of [30, 20, 10, 5, 1]) agent.delete('web', graceSeconds);
    expect(await untilTerminated(agent, uid)).toBeLessThan(MIN_STOP_MS + CALLS_MS);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('ends the wait after a failed stop', async () => {
    const { agent, uid } = await settled(STUBBORN);
    agent.runtime.podFaults.set(uid, { calls: { StopContainer: { fail: 1 } } });
    agent.delete('web', 30);
    await agent.untilState(uid, 'Terminating.BackingOff');
    agent.runtime.podFaults.clear();
    agent.delete('web', 1);
    expect(await untilTerminated(agent, uid)).toBeLessThan(MIN_STOP_MS + CALLS_MS);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('also counts while the aborted sync has not ended yet', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', STUBBORN);
    await agent.untilCalled(uid, 'StartContainer');
    agent.delete('web', 30);
    expect(agent.state(uid)).toBe('Syncing.Draining');
    agent.delete('web', 1);
    expect(await untilTerminated(agent, uid)).toBeLessThan(MIN_STOP_MS + 2 * CALLS_MS);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('is not lengthened by a later deletion with a longer grace period', async () => {
    const { agent, uid } = await settled(STUBBORN);
    agent.delete('web', 5);
    const kill = agent.kill(uid, { podTerminationGracePeriodSecondsOverride: 60 });
    const took = await untilTerminated(agent, uid);
    expect([took >= 5_000, took < 5_000 + CALLS_MS]).toEqual([true, true]);
    await agent.clock.advance(0);
    expect(kill.answers).toHaveLength(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('an eviction of a pod that is being deleted', () => {
  const PREEMPTED = { phase: 'Failed', reason: 'Preempting' } as const;
  const EVICTED = { phase: 'Failed', reason: 'Evicted' } as const;

  test('with a shorter grace period: this one and the last status count, and both kills are answered once', async () => {
    const { agent, uid } = await settled(STUBBORN);
    agent.delete('web', 30);
    await agent.clock.advance(1_000);
    const preemption = agent.kill(uid, {
      podTerminationGracePeriodSecondsOverride: 20,
      podStatus: PREEMPTED,
    });
    await agent.clock.advance(1_000);
    const eviction = agent.kill(uid, {
      podTerminationGracePeriodSecondsOverride: 3,
      evict: true,
      podStatus: EVICTED,
    });
    const evictedAtMs = agent.nowMs;
    await agent.untilState(uid, 'Terminated.Finished');
    const took = agent.nowMs - evictedAtMs;
    expect([took >= 3_000, took < 3_000 + CALLS_MS]).toEqual([true, true]);
    expect(agent.status(uid)).toMatchObject(EVICTED);
    expect(await agent.verdict()).toEqual(ALL_WELL);
    for (const { answers } of [preemption, eviction]) {
      expect(answers).toEqual([
        { atMs: agent.told(uid, /^STOP_DONE/)[0]?.atMs, state: expect.stringMatching(/^Terminated/) },
      ]);
    }
  });

  test('with a longer grace period: the one of the deletion counts', async () => {
    const { agent, uid } = await settled(STUBBORN);
    agent.delete('web', 4);
    await agent.clock.advance(1_000);
    agent.kill(uid, { podTerminationGracePeriodSecondsOverride: 60, evict: true, podStatus: EVICTED });
    expect(await untilTerminated(agent, uid)).toBeLessThan(3_000 + CALLS_MS);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.status(uid)).toMatchObject(EVICTED);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('a preStop hook', () => {
  const GRACE_SECONDS = 10;
  const GRACE_MS = GRACE_SECONDS * 1000;
  const preStop = (words: string): Partial<Container> => ({
    lifecycle: { preStop: { exec: { command: words.split(' ') } } },
  });
  const hooked = (hook: string, more: Partial<PodSpec> = {}) =>
    podSpec({
      terminationGracePeriodSeconds: GRACE_SECONDS,
      containers: [container('main', 'run ignore-term', preStop(hook))],
      ...more,
    });
  const sidecar = (name: string) => container(name, 'run ignore-term', { restartPolicy: 'Always' });

  async function deleted(spec: PodSpec) {
    const { agent, uid } = await settled(spec);
    agent.delete('web', GRACE_SECONDS);
    return { agent, uid, took: await untilTerminated(agent, uid) };
  }

  test.each([
    ['ends at the end of the grace period', hooked('succeed takes=10s')],
    ['does not end', hooked('succeed takes=1h')],
    [
      'does not end, and two sidecars wait for its container',
      hooked('succeed takes=1h', { initContainers: [sidecar('first'), sidecar('second')] }),
    ],
    [
      'does not end, and a sidecar has such a hook too',
      hooked('succeed takes=1h', {
        initContainers: [{ ...sidecar('first'), ...preStop('succeed takes=1h') }],
      }),
    ],
  ])(
    'that %s: hook, SIGTERM, sidecars and sandbox share one deadline, plus the shortest stop',
    async (_, spec) => {
      const { agent, took } = await deleted(spec);
      expect([took >= GRACE_MS, took < GRACE_MS + MIN_STOP_MS + CALLS_MS]).toEqual([true, true]);
      expect(await agent.verdict()).toEqual(ALL_WELL);
    },
  );

  test('that uses a part of the grace period: SIGTERM gets the remaining time', async () => {
    const { agent, took } = await deleted(hooked('succeed takes=4s'));
    expect([took >= GRACE_MS, took < GRACE_MS + CALLS_MS]).toEqual([true, true]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('is aborted by a kill with a shorter grace period, and is not run again', async () => {
    const { agent, uid } = await settled(hooked('succeed takes=1h', { initContainers: [sidecar('first')] }));
    agent.delete('web', GRACE_SECONDS);
    await agent.clock.advance(4_000);
    const kill = agent.kill(uid, { podTerminationGracePeriodSecondsOverride: 1 });
    expect(await untilTerminated(agent, uid)).toBeLessThan(1_000 + MIN_STOP_MS + CALLS_MS);
    expect(agent.told(uid, /^ExecSync .*: (?!carried out late)/)).toMatchObject([
      { what: 'ExecSync uid-1.c2: Canceled' },
    ]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
    expect(kill.answers).toHaveLength(1);
  });
});
