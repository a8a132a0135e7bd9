/** What keeps a node from being at rest, and what it must not leave behind: each is complained of, and only then. */
import { describe, expect, test } from '@jest/globals';
import { ROOMY_NODE, simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import { leftovers, unrest } from '../../../src/simulation/judges/rest.ts';
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

/** A node of two cores: a pod that has both goes for a critical one. */
async function crowded(words?: string) {
  const agent = new SimulatedAgent();
  agent.nodeFacts = simulatedNodeFacts({ cpu: '2', memory: '4Gi', pods: '10' });
  const victim = agent.create('victim', wanting('2', words));
  await agent.untilState(victim, 'Syncing.Settled');
  agent.create('critical', wanting('2', 'run', 2_000_000_000));
  await agent.clock.advance(5_000);
  return { agent, victim };
}

/** As eviction and preemption do; the node knows of it. */
const kill = (agent: SimulatedAgent, uid: string) =>
  agent.life.kill(uid, { graceSeconds: 1, reason: undefined });

const complaint = (uid: string, what: string) => ({ name: 'web', uid, what });

describe('a node is at rest (I7)', () => {
  test('once its pods are settled and all their containers run', async () => {
    const { agent } = await settled(podSpec({ containers: [container('main'), container('second')] }));
    expect(unrest(agent.host)).toBeUndefined();
  });

  test('with a pod that has run to its end, one that is killed, and one that fails again and again', async () => {
    const agent = new SimulatedAgent();
    agent.create('job', JOB);
    const killed = agent.create('killed');
    agent.create('failing', podSpec({ containers: [container('main', 'fail')] }));
    await agent.untilState(killed, 'Syncing.Settled');
    kill(agent, killed);
    await agent.clock.advance(60_000);
    expect(agent.state(killed)).toBe('Terminated.Finished');
    expect(unrest(agent.host)).toBeUndefined();
  });

  test('with a pod that went for another one, one that was not let in, and a static one that waits', async () => {
    const { agent } = await crowded();
    const rejected = agent.create('rejected', wanting('2'));
    const waiting = agent.create('waiting', wanting('2'), 'file');
    await agent.clock.advance(60_000);
    expect(agent.state(rejected)).toBe('Terminated.Finished');
    expect(agent.state(waiting)).toBe('Syncing.AwaitingRoom');
    expect(unrest(agent.host)).toBeUndefined();
  });

  test('with nothing at all', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    expect(unrest(agent.host)).toBeUndefined();
  });
});

describe('a node is not at rest (I7)', () => {
  test('while room is being made for a pod', async () => {
    const { agent } = await crowded('run ignore-term');
    expect(unrest(agent.host)).toEqual({ name: 'critical', what: 'room is still being made for it' });
  });

  test('with a static pod that waits for room that there is', async () => {
    const { agent } = await crowded();
    const uid = agent.create('web', wanting('2'), 'file');
    await agent.clock.advance(60_000);
    agent.nodeFacts = ROOMY_NODE;
    expect(unrest(agent.host)).toEqual(complaint(uid, 'waits for room that it could have'));
  });

  test('with one that waits, and does not say for what', async () => {
    const { agent } = await crowded();
    const uid = agent.create('web', wanting('2'), 'file');
    await agent.clock.advance(60_000);
    agent.life.agent.statusManager.forget(uid);
    expect(unrest(agent.host)).toEqual(complaint(uid, 'waits for its start, and does not say for what'));
  });

  test('without an agent', async () => {
    const { agent } = await settled();
    agent.crash(1_000);
    expect(unrest(agent.host)).toEqual({ what: 'there is no agent' });
  });

  test('while a kill has not been answered', async () => {
    const { agent, uid } = await settled();
    kill(agent, uid);
    expect(unrest(agent.host)).toEqual({ what: '1 kills have not been answered' });
    await agent.untilState(uid, 'Terminated.Finished');
    await agent.clock.advance(0);
    expect(unrest(agent.host)).toBeUndefined();
  });

  test('while a pod that is wanted has no actor', () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    expect(unrest(agent.host)).toEqual(complaint(uid, 'wanted, and without an actor'));
  });

  test('with a pod that is finished, though nobody asked for its end', async () => {
    const { agent, uid } = await settled();
    void agent.life.agent.supervisor.killPod(uid);
    await agent.untilState(uid, 'Terminated.Finished');
    expect(unrest(agent.host)).toEqual(complaint(uid, 'finished, though nobody asked for its end'));
  });

  test('with a pod that is to end and does not', async () => {
    const { agent, uid } = await settled();
    agent.runtime.podFaults.set(uid, { calls: { StopContainer: { hang: 1 } } });
    agent.delete('web');
    await agent.clock.advance(10_000);
    expect(unrest(agent.host)).toEqual(complaint(uid, 'is to end, and is in Terminating.Stopping'));
  });

  test('with a pod that has run to its end and does not get to it', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', JOB);
    agent.runtime.podFaults.set(uid, { calls: { StopPodSandbox: { hang: 1 } } });
    await agent.clock.advance(20_000);
    expect(unrest(agent.host)).toEqual(
      complaint(uid, 'is to run to its end, and is in Terminating.Stopping'),
    );
  });

  test('with a pod that does not settle', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    agent.runtime.podFaults.set(uid, { calls: { CreateContainer: { fail: 1 } } });
    await agent.untilState(uid, 'Syncing.BackingOff');
    expect(unrest(agent.host)).toEqual(complaint(uid, 'in Syncing.BackingOff, and does not settle'));
  });

  test('with a pod that is settled, and one of its containers does not run', async () => {
    const { agent, uid } = await settled(podSpec({ containers: [container('main'), container('second')] }));
    agent.runtime.podFaults.set(uid, { events: { lost: 1 } });
    agent.runtime.killContainer('uid-1.c2', 1);
    expect(unrest(agent.host)).toEqual(complaint(uid, 'settled, and its container second does not run'));
  });
});

describe('a node has nothing left (I10)', () => {
  test('once everything that was taken away is gone', async () => {
    const { agent, uid } = await settled();
    agent.delete('web');
    await agent.untilState(uid, '');
    expect(leftovers(agent.host)).toBeUndefined();
  });
});

describe('a node has something left (I10)', () => {
  test('while the runtime has a sandbox of a pod', async () => {
    const { agent, uid } = await settled();
    expect(leftovers(agent.host)).toEqual(
      complaint(uid, 'the runtime still has a sandbox of it, though no pod is wanted'),
    );
  });

  test('while there is a folder of a pod, be it of one that nobody knows', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    agent.host.disk.set('uid-unknown', { mounted: false, mountedAt: 0, instances: new Map() });
    expect(leftovers(agent.host)).toEqual({
      uid: 'uid-unknown',
      what: 'its folder is left, though no pod is wanted',
    });
  });

  test('while there is an actor', async () => {
    const agent = new SimulatedAgent();
    await agent.clock.advance(1_000);
    agent.runtime.goDown();
    await agent.clock.advance(20_000);
    const uid = agent.create('web');
    await agent.clock.advance(0);
    expect(leftovers(agent.host)).toEqual(
      complaint(uid, 'its actor is left, in Syncing.AwaitingRuntime, though no pod is wanted'),
    );
  });
});
