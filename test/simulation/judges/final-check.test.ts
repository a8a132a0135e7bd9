/** The final checks find each pod that has not settled, and each thing that is left, and nothing else. */
import { describe, expect, test } from '@jest/globals';
import { newFolder } from '../../../src/simulation/node/simulated-disk.ts';
import { ROOMY_NODE, simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import { findLeftover, findUnsettled } from '../../../src/simulation/judges/final-check.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const JOB = podSpec({ containers: [container('main', 'run exit-after=5s')], restartPolicy: 'Never' });

async function settled(spec?: PodSpec) {
  const agent = new SimulatedAgent();
  const uid = agent.create('web', spec);
  await agent.untilState(uid, 'Syncing.Settled');
  return { agent, uid };
}

const wanting = (cpu: string, words = 'run', priority = 0) =>
  podSpec({ containers: [container('main', words, { resources: { requests: { cpu } } })], priority });

/** A node of two cores. A pod that has both is preempted by a critical one. */
async function crowded(words?: string) {
  const agent = new SimulatedAgent();
  agent.nodeFacts = simulatedNodeFacts({ cpu: '2', memory: '4Gi', pods: '10' });
  const victim = agent.create('victim', wanting('2', words));
  await agent.untilState(victim, 'Syncing.Settled');
  agent.create('critical', wanting('2', 'run', 2_000_000_000));
  await agent.clock.advance(5_000);
  return { agent, victim };
}

/** As eviction and preemption do. The judges know of it. */
const kill = (agent: SimulatedAgent, uid: string) =>
  agent.run.kill(uid, { graceSeconds: 1, reason: undefined });

const finding = (uid: string, what: string) => ({ name: 'web', uid, what });

describe('a node has settled (I7)', () => {
  test('when its pods have settled and all their containers run', async () => {
    const { agent } = await settled(podSpec({ containers: [container('main'), container('second')] }));
    await agent.clock.advance(1_000);
    expect(findUnsettled(agent.host)).toBeUndefined();
  });

  test('with a pod that has run to its end, a killed one, and one that keeps failing', async () => {
    const agent = new SimulatedAgent();
    agent.create('job', JOB);
    const killed = agent.create('killed');
    agent.create('failing', podSpec({ containers: [container('main', 'fail')] }));
    await agent.untilState(killed, 'Syncing.Settled');
    kill(agent, killed);
    await agent.clock.advance(60_000);
    expect(agent.state(killed)).toBe('Terminated.Finished');
    expect(findUnsettled(agent.host)).toBeUndefined();
  });

  test('with a preempted pod, a rejected one, and a static one that waits for room', async () => {
    const { agent } = await crowded();
    const rejected = agent.create('rejected', wanting('2'));
    const waiting = agent.create('waiting', wanting('2'), 'file');
    await agent.clock.advance(60_000);
    expect(agent.state(rejected)).toBe('Terminated.Finished');
    expect(agent.state(waiting)).toBe('Syncing.Starting.AwaitingRoom');
    expect(findUnsettled(agent.host)).toBeUndefined();
  });

  test('without any pod', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    expect(findUnsettled(agent.host)).toBeUndefined();
  });
});

describe('a node has not settled (I7)', () => {
  test('while room is being made for a pod', async () => {
    const { agent } = await crowded('run ignore-term');
    expect(findUnsettled(agent.host)).toEqual({ name: 'critical', what: 'room is still being made for it' });
  });

  test('with a static pod that waits for room that is free', async () => {
    const { agent } = await crowded();
    const uid = agent.create('web', wanting('2'), 'file');
    await agent.clock.advance(60_000);
    agent.nodeFacts = ROOMY_NODE;
    const { supervisor } = agent.run.agent;
    supervisor.registry.send = () => false;
    supervisor.offerRoom = () => undefined;
    await agent.clock.advance(60_000);
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'waits for room that it could have'));
  });

  test('with a static pod that waits, and does not say for what', async () => {
    const { agent } = await crowded();
    const uid = agent.create('web', wanting('2'), 'file');
    await agent.clock.advance(60_000);
    agent.run.agent.statusManager.forget(uid);
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'waits for its start, and does not say for what'));
  });

  test('without an agent', async () => {
    const { agent } = await settled();
    agent.crash(1_000);
    expect(findUnsettled(agent.host)).toEqual({ what: 'there is no agent' });
  });

  test('while a kill has not been answered', async () => {
    const { agent, uid } = await settled();
    kill(agent, uid);
    expect(findUnsettled(agent.host)).toEqual({ what: '1 kills have not been answered' });
    await agent.untilState(uid, 'Terminated.Finished');
    await agent.clock.advance(1_000);
    expect(findUnsettled(agent.host)).toBeUndefined();
  });

  test('while a pod that is wanted has no actor', () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'wanted, and without an actor'));
  });

  test('with a pod that is finished, though its end was not asked for', async () => {
    const { agent, uid } = await settled();
    void agent.run.agent.supervisor.killPod(uid);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'finished, though its end was not asked for'));
  });

  test('with a deleted pod that does not end', async () => {
    const { agent, uid } = await settled();
    agent.runtime.podFaults.set(uid, { calls: { StopContainer: { hang: 1 } } });
    agent.delete('web');
    await agent.clock.advance(10_000);
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'is to end, and is in Terminating.Stopping'));
  });

  test('with a pod whose containers have run to their end, and that does not end', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', JOB);
    agent.runtime.podFaults.set(uid, { calls: { StopPodSandbox: { hang: 1 } } });
    await agent.clock.advance(20_000);
    expect(findUnsettled(agent.host)).toEqual(
      finding(uid, 'should have run to its end, and is in Terminating.Stopping'),
    );
  });

  test('with a pod that does not settle', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    agent.runtime.podFaults.set(uid, { calls: { CreateContainer: { fail: 1 } } });
    await agent.untilState(uid, 'Syncing.BackingOff');
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'in Syncing.BackingOff, and does not settle'));
  });

  test('with a settled pod of which a container does not run', async () => {
    const { agent, uid } = await settled(podSpec({ containers: [container('main'), container('second')] }));
    agent.runtime.podFaults.set(uid, { events: { lost: 1 } });
    agent.runtime.killContainer('uid-1.c2', 1);
    expect(findUnsettled(agent.host)).toEqual(finding(uid, 'settled, and its container second does not run'));
  });
});

describe('a node has nothing left (I10)', () => {
  test('when a deleted pod has been removed', async () => {
    const { agent, uid } = await settled();
    agent.delete('web');
    await agent.untilState(uid, '');
    expect(findLeftover(agent.host)).toBeUndefined();
  });
});

describe('a node has something left (I10)', () => {
  test('a sandbox', async () => {
    const { agent, uid } = await settled();
    expect(findLeftover(agent.host)).toEqual(
      finding(uid, 'the runtime still has a sandbox of it, though no pod is wanted'),
    );
  });

  test('a folder, also of an unknown pod', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    agent.host.disk.set('uid-unknown', newFolder());
    expect(findLeftover(agent.host)).toEqual({
      uid: 'uid-unknown',
      what: 'its folder is left, though no pod is wanted',
    });
  });

  test('an actor', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    agent.runtime.goDown();
    await agent.clock.advance(20_000);
    const uid = agent.create('web', podSpec(), 'file');
    await agent.clock.advance(0);
    expect(findLeftover(agent.host)).toEqual(
      finding(uid, 'its actor is left, in Syncing.Starting.AwaitingRuntime, though no pod is wanted'),
    );
  });
});
