/** Violations that the judges see only in a whole agent are reported, and name the pod. */
import { describe, expect, test } from '@jest/globals';
import { planCall } from '../../../src/simulation/runtime/call-faults.ts';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { CHANCE, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';
import { containerConfig } from '../../support/runtime-configs.ts';
import { sandboxConfig } from '../runtime/simulated-bed.ts';

async function settled(source: 'api' | 'file' = 'api') {
  const agent = new SimulatedAgent();
  const uid = agent.create('web', podSpec(), source);
  await agent.untilState(uid, 'Syncing.Settled');
  expect(agent.violations).toEqual([]);
  return { agent, uid };
}

const EVICTION = { graceSeconds: 1, reason: 'Evicted' } as const;

/** Another client of the runtime starts the container `main`. */
async function startMain(agent: SimulatedAgent, uid: string, sandboxId?: string): Promise<void> {
  const other = agent.runtime.connect();
  const config = sandboxConfig(uid, 7);
  const started = (async () => {
    const id = sandboxId ?? (await other.runPodSandbox(config));
    const envs = [{ key: 'KUBERNETES_SERVICE_HOST', value: '10.96.0.1' }];
    const attempt = { metadata: { name: 'main', attempt: 7 }, envs };
    await other.startContainer(await other.createContainer(id, containerConfig(['run'], attempt), config));
  })();
  await agent.clock.advance(500);
  await started;
}

describe('an agent violates', () => {
  test('rule 3 if it ends a pod whose end was not asked for', async () => {
    const { agent, uid } = await settled();
    void agent.run.agent.supervisor.killPod(uid);
    expect(agent.violations).toMatchObject([
      { invariant: 'rule 3', name: 'web', uid, what: 'is ended, though its end was not asked for' },
    ]);
  });

  test('rule 5 if the final status has not the reason of the last kill', async () => {
    const { agent, uid } = await settled();
    agent.run.agent.statusManager.get = () => ({ phase: 'Failed', reason: 'Preempting' });
    agent.run.kill(uid, EVICTION);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.violations).toMatchObject([
      { invariant: 'rule 5', name: 'web', uid, what: 'ends as Preempting, not as Evicted' },
    ]);
  });

  test('admission if a rejected pod ends with another reason', async () => {
    const agent = new SimulatedAgent();
    agent.nodeFacts = simulatedNodeFacts({ cpu: '1', memory: '1Gi', pods: '0' });
    agent.run.agent.statusManager.get = () => ({ phase: 'Failed', reason: 'OutOfcpu' });
    const uid = agent.create('web');
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.violations).toMatchObject([
      { invariant: 'admission', name: 'web', uid, what: 'ends as Failed OutOfcpu, not as OutOfpods' },
    ]);
  });

  test('rule 8 if a pod is finished, and its volumes are mounted', async () => {
    const { agent, uid } = await settled();
    Object.defineProperty(agent.host.disk.get(uid), 'mounted', {
      get: () => true,
      set() {
        // It stays as it is.
      },
    });
    agent.run.kill(uid, EVICTION);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.violations).toMatchObject([
      { invariant: 'rule 8', name: 'web', uid, what: 'is finished, and its volumes are mounted' },
    ]);
  });

  test('I7 if a kill is answered before the pod is Terminated', async () => {
    const { agent, uid } = await settled();
    agent.run.agent.supervisor.killPod = () => Promise.resolve();
    agent.run.kill(uid, EVICTION);
    await agent.clock.advance(0);
    expect(agent.violations).toMatchObject([
      { invariant: 'I7', name: 'web', uid, what: 'a kill is answered in Syncing.Settled' },
    ]);
  });

  test('I10 if a second instance of a container starts, no matter which client starts it', async () => {
    const { agent, uid } = await settled();
    await startMain(agent, uid, agent.runtime.sandboxesOf(uid)[0]!.id);
    expect(agent.violations).toMatchObject([
      { invariant: 'I10', name: 'web', uid, what: 'main runs twice: uid-1.c1 and uid-1.c2' },
    ]);
  });

  test('I6 if a static pod starts while another one of its name runs that an earlier agent has left running', async () => {
    const { agent, uid } = await settled('file');
    agent.crash();
    await agent.untilState(uid, 'Syncing.Settled');
    const second = agent.create('web', podSpec(), 'file');
    agent.runtime.podFaults.set(uid, { calls: { StopContainer: { hang: 1 } } });
    await startMain(agent, second);
    expect(agent.violations).toMatchObject([{ invariant: 'I6', name: 'web', uid: second }]);
  });

  test('no invariant, but logs an error: that is reported as a defect', async () => {
    const { agent, uid } = await settled();
    agent.run.agent.supervisor.registry.send(uid, { type: 'SyncPodUpdate', pod: {} as Pod });
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

test('a killed agent does nothing any more: it writes no line, and its volumes stay mounted', async () => {
  const { agent, uid } = await settled();
  const { run } = agent;
  agent.atNext(/STOP_DONE/, () => agent.crash(60_000));
  agent.delete('web');
  await agent.until(() => agent.host.agentRun === undefined, 'the agent to be killed');
  const before = agent.history.length;
  await agent.clock.advance(30_000);
  expect(run.judges.isAlive).toBe(false);
  // A request may have been under way.
  expect(agent.told('web', /^(?!get )/, before)).toEqual([]);
  expect(agent.host.disk.get(uid)).toMatchObject({ mounted: true });
});

test('an agent is not blamed for a call of its killed predecessor that is carried out late', async () => {
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
