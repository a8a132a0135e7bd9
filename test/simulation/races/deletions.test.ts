/** Static pods that a person deletes on the node, while the agent dies and manifests change (lifecycle 13). */
import { describe, expect, test } from '@jest/globals';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const SPEC = podSpec({ containers: [container('main', 'run term-takes=2s')] });
const DELETE = { kind: 'delete by hand' } as const;

async function running() {
  const agent = new SimulatedAgent();
  const uid = agent.create('web', SPEC, 'file');
  await agent.untilState(uid, 'Syncing.Settled');
  return { agent, uid };
}

const startsOf = (agent: SimulatedAgent) => agent.told('web', /^container main .* runs/).length;

describe('a static pod that is deleted by hand', () => {
  test('ends, and stays ended after the agent was killed', async () => {
    const { agent, uid } = await running();
    agent.apply('web', DELETE);
    await agent.untilState(uid, 'Terminated.Finished');
    agent.crash(1_000);
    await agent.clock.advance(120_000);
    expect(agent.state(uid)).toBe('Terminated.Finished');
    expect(agent.status(uid)).toMatchObject({ reason: 'Deleted' });
    expect(startsOf(agent)).toBe(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('ends after the agent was killed while the pod was ending', async () => {
    const { agent, uid } = await running();
    agent.apply('web', DELETE);
    await agent.untilState(uid, 'Terminating.Stopping');
    agent.crash(1_000);
    await agent.clock.advance(120_000);
    expect(agent.state(uid)).toBe('Terminated.Finished');
    expect(await agent.running()).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('is not started where it was deleted before its first start', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    agent.runtime.goDown();
    await agent.until(
      () => agent.run.agent.supervisor.runtimeProblem !== undefined,
      'the agent to know that the runtime is down',
    );
    const uid = agent.create('web', SPEC, 'file');
    expect(agent.state(uid)).toBe('Syncing.Starting.AwaitingRuntime');
    agent.apply('web', DELETE);
    agent.runtime.comeUp();
    await agent.clock.advance(120_000);
    expect(startsOf(agent)).toBe(0);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test.each([
    ['changes', { kind: 'change image' }],
    ['is removed and comes back', { kind: 'flap', times: 1 }],
  ] as const)('starts again when its manifest %s', async (_, change) => {
    const { agent, uid } = await running();
    agent.apply('web', DELETE);
    await agent.untilState(uid, 'Terminated.Finished');
    agent.apply('web', change);
    await agent.untilState(uid, 'Syncing.Settled');
    expect(startsOf(agent)).toBe(2);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('starts again when its manifest changes while it ends', async () => {
    const { agent, uid } = await running();
    agent.apply('web', DELETE);
    await agent.untilState(uid, 'Terminating.Stopping');
    agent.apply('web', { kind: 'change image' });
    await agent.untilState(uid, 'Syncing.Settled');
    expect(startsOf(agent)).toBe(2);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('starts again when its manifest has changed while no agent ran', async () => {
    const { agent, uid } = await running();
    agent.apply('web', DELETE);
    await agent.untilState(uid, 'Terminated.Finished');
    agent.crash(5_000);
    agent.apply('web', { kind: 'change image' });
    await agent.untilState(uid, 'Syncing.Settled');
    expect(startsOf(agent)).toBe(2);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('a second deletion with a shorter grace period ends it sooner', async () => {
    const agent = new SimulatedAgent();
    const stubborn = podSpec({
      containers: [container('main', 'run ignore-term')],
      terminationGracePeriodSeconds: 600,
    });
    const uid = agent.create('web', stubborn, 'file');
    await agent.untilState(uid, 'Syncing.Settled');
    agent.apply('web', DELETE);
    await agent.untilState(uid, 'Terminating.Stopping');
    const from = agent.nowMs;
    agent.apply('web', { ...DELETE, graceSeconds: 1 });
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.nowMs - from).toBeLessThan(60_000);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});
