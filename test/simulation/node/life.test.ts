/** What is asked of an agent besides its pod actors: each violation is reported, and names the pod. */
import { describe, expect, test } from '@jest/globals';
import { planCall } from '../../../src/runtime/simulated/call-plan.ts';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { CHANCE, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';
import { containerConfig } from '../../support/runtime-configs.ts';
import { sandboxConfig } from '../../runtime/simulated/simulated-bed.ts';

async function settled(source: 'api' | 'file' = 'api') {
  const agent = new SimulatedAgent();
  const uid = agent.create('web', podSpec(), source);
  await agent.untilState(uid, 'Syncing.Settled');
  expect(agent.violations).toEqual([]);
  return { agent, uid };
}

const EVICTION = { graceSeconds: 1, reason: 'Evicted' } as const;

/** Somebody else, on the same runtime, starts the container `main`. */
async function startMain(agent: SimulatedAgent, uid: string, sandboxId?: string): Promise<void> {
  const other = agent.runtime.connect();
  const config = sandboxConfig(uid, 7);
  const started = (async () => {
    const id = sandboxId ?? (await other.runPodSandbox(config));
    const attempt = { metadata: { name: 'main', attempt: 7 } };
    await other.startContainer(await other.createContainer(id, containerConfig(['run'], attempt), config));
  })();
  await agent.clock.advance(500);
  await started;
}

describe('an agent violates', () => {
  test('rule 3 where it ends a pod that nobody has asked to end', async () => {
    const { agent, uid } = await settled();
    void agent.life.agent.supervisor.killPod(uid);
    expect(agent.violations).toMatchObject([
      { invariant: 'rule 3', name: 'web', uid, what: 'is ended, though nobody has asked for that' },
    ]);
  });

  test('rule 5 where a pod does not say why it has ended', async () => {
    const { agent, uid } = await settled();
    agent.life.agent.statusManager.get = () => ({ phase: 'Failed', reason: 'Preempting' });
    agent.life.kill(uid, EVICTION);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.violations).toMatchObject([
      { invariant: 'rule 5', name: 'web', uid, what: 'ends as Preempting, not as Evicted' },
    ]);
  });

  test('what it says of a pod that it did not let in where that ends otherwise', async () => {
    const agent = new SimulatedAgent();
    agent.nodeFacts = simulatedNodeFacts({ cpu: '1', memory: '1Gi', pods: '0' });
    agent.life.agent.statusManager.get = () => ({ phase: 'Failed', reason: 'OutOfcpu' });
    const uid = agent.create('web');
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.violations).toMatchObject([
      { invariant: 'admission', name: 'web', uid, what: 'ends as Failed OutOfcpu, not as OutOfpods' },
    ]);
  });

  test('rule 8 where a pod is finished, and its volumes are mounted', async () => {
    const { agent, uid } = await settled();
    Object.defineProperty(agent.host.disk.get(uid), 'mounted', { get: () => true, set: () => undefined });
    agent.life.kill(uid, EVICTION);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.violations).toMatchObject([
      { invariant: 'rule 8', name: 'web', uid, what: 'is finished, and its volumes are mounted' },
    ]);
  });

  test('I7 where a kill is answered before the pod is Terminated', async () => {
    const { agent, uid } = await settled();
    agent.life.agent.supervisor.killPod = () => Promise.resolve();
    agent.life.kill(uid, EVICTION);
    await agent.clock.advance(0);
    expect(agent.violations).toMatchObject([
      { invariant: 'I7', name: 'web', uid, what: 'a kill is answered in Syncing.Settled' },
    ]);
  });

  test('I10 where a second instance of a container starts, whoever starts it', async () => {
    const { agent, uid } = await settled();
    await startMain(agent, uid, agent.runtime.sandboxesOf(uid)[0]!.id);
    expect(agent.violations).toMatchObject([
      { invariant: 'I10', name: 'web', uid, what: 'main runs twice: uid-1.c1 and uid-1.c2' },
    ]);
  });

  test('I6 where a static pod starts while another one of its name runs, which was there before the agent', async () => {
    const { agent, uid } = await settled('file');
    agent.crash();
    await agent.untilState(uid, 'Syncing.Settled');
    const second = agent.create('web', podSpec(), 'file');
    agent.runtime.podFaults.set(uid, { calls: { StopContainer: { hang: 1 } } });
    await startMain(agent, second);
    expect(agent.violations).toMatchObject([{ invariant: 'I6', name: 'web', uid: second }]);
  });

  test('what its charts foresee where it writes an error into its log', async () => {
    const { agent, uid } = await settled();
    agent.life.agent.supervisor.registry.send(uid, { type: 'SyncPodUpdate', pod: {} as Pod });
    await agent.clock.advance(0);
    expect(agent.violations).toMatchObject([
      {
        invariant: 'defect',
        name: 'web',
        uid,
        what: expect.stringMatching(/actor failed, and is started anew/),
      },
    ]);
  });
});

test('a dead agent does nothing any more: it tells nothing, and its volumes stay as they are', async () => {
  const { agent, uid } = await settled();
  const { life } = agent;
  agent.atNext(/STOP_DONE/, () => agent.crash(60_000));
  agent.delete('web');
  await agent.until(() => agent.host.life === undefined, 'the agent to be dead');
  const before = agent.history.length;
  await agent.clock.advance(30_000);
  expect(life.alive).toBe(false);
  expect(agent.told('web', /./, before)).toEqual([]);
  expect(agent.host.disk.get(uid)).toMatchObject({ mounted: true });
});

test('what a dead agent has asked for, and is carried out late, no other one answers for', async () => {
  const hang = { hang: 1, fail: 0, lostAnswer: 0, slow: 0, disappear: 0, untrue: 0 };
  const plan = (value: number) =>
    planCall('StartContainer', { faults: hang, latency: [0, 0], timeoutMs: 120_000 }, value);
  const values = Array.from({ length: 1000 }, (_, index) => index / 1000);
  const late = values.find((value) => plan(value).landsAfterMs > 30_000 && plan(value).landsAfterMs < 60_000);
  const agent = new SimulatedAgent((key) => (key === 'uid-2/StartContainer/1' ? late! : CHANCE(key)));
  const first = agent.create('web', podSpec(), 'file');
  await agent.untilState(first, 'Syncing.Settled');
  agent.runtime.podFaults.set('uid-2', { calls: { StartContainer: hang } });
  agent.create('web', podSpec(), 'file');
  await agent.until(
    () => agent.runtime.inFlight('uid-2').some(({ name }) => name === 'StartContainer'),
    'a start',
  );
  agent.crash(5_000);
  await startMain(agent, first);
  agent.runtime.podFaults.set(first, {
    calls: { StopContainer: { ...hang, hang: 0, fail: 1 }, StopPodSandbox: { ...hang, hang: 0, fail: 1 } },
  });
  const before = agent.history.length;
  await agent.until(
    () => agent.told('uid-2', /^StartContainer .*carried out late/, before).length > 0,
    'the start',
  );
  expect([agent.runtime.isRunning(first), agent.violations]).toEqual([true, []]);
});
