/** Critical pods that do not fit, and what happens while room is being made for them. */
import { describe, expect, test } from '@jest/globals';
import { PREEMPTING, PREEMPTING_MESSAGE } from '../../../src/agent/policies/preemption/preemption-message.ts';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const CRITICAL = 2_000_000_000;

const room = (cpu: string) => simulatedNodeFacts({ cpu, memory: '4Gi', pods: '100' });

/** A node with this amount of CPU for its pods. */
function nodeWith(cpu: string): SimulatedAgent {
  const agent = new SimulatedAgent();
  agent.nodeFacts = room(cpu);
  return agent;
}

/** A pod that takes this time to end, if its grace period allows it. */
function wanting(cpu: string, termTakes = '5s', more: Partial<PodSpec> = {}): PodSpec {
  const resources = { requests: { cpu } };
  return podSpec({ containers: [container('main', `run term-takes=${termTakes}`, { resources })], ...more });
}

const critical = (cpu: string, priority = CRITICAL) => wanting(cpu, '1s', { priority });

/** Creates the pods, and waits until they run. */
async function running(agent: SimulatedAgent, ...pods: readonly [name: string, spec: PodSpec][]) {
  const uids = pods.map(([name, spec]) => agent.create(name, spec));
  for (const uid of uids) await agent.untilState(uid, 'Syncing.Settled');
  return uids as [string, ...string[]];
}

/** The names of the preempted pods, once for each preemption. */
const victims = (agent: SimulatedAgent) =>
  agent.history.filter(({ what }) => what === 'event Warning Preempting').map(({ who }) => who.split(' ')[1]);

const startsOf = (agent: SimulatedAgent, uid: string) => agent.told(uid, /^container main .* runs/);
const endOf = (agent: SimulatedAgent, uid: string) => agent.told(uid, /-> Terminated\.CleaningUp/);

/** A full node whose only pod is being preempted. */
async function endingVictim(victim: PodSpec = wanting('2')) {
  const agent = nodeWith('2');
  const [victimUid] = await running(agent, ['victim', victim]);
  const uid = agent.create('critical', critical('2'));
  await agent.untilState(victimUid, 'Terminating.Stopping');
  expect([victims(agent), agent.state(uid)]).toEqual([['victim'], 'Syncing.Starting.MakingRoom']);
  return { agent, victim: victimUid, uid };
}

test('the preemptor starts as soon as its victim has ended, and not before', async () => {
  const { agent, victim, uid } = await endingVictim();
  await agent.untilState(uid, 'Syncing.Settled');
  expect(agent.status(victim)).toMatchObject({ phase: 'Failed', reason: 'Preempting' });
  const [[ended], [granted]] = [endOf(agent, victim), agent.told(uid, /^ADMITTED/)];
  expect(granted!.atMs).toBe(ended!.atMs);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

describe('the preemptor is deleted while its victims end', () => {
  test('the victims end, the preemptor never starts, and the next pod gets the room', async () => {
    const { agent, victim, uid } = await endingVictim();
    agent.delete('critical');
    const early = agent.create('early', wanting('2'));
    await agent.untilState(victim, 'Terminated.Finished');
    const [late] = await running(agent, ['late', wanting('2')]);
    expect(agent.status(victim)).toMatchObject({ reason: 'Preempting' });
    expect(startsOf(agent, uid)).toEqual([]);
    expect(agent.status(early)).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
    expect(startsOf(agent, late)).toHaveLength(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('a static pod that waited gets the room', async () => {
    const { agent, victim } = await endingVictim();
    const waiting = agent.create('waiting', wanting('1'), 'file');
    await agent.clock.advance(100);
    expect(agent.status(waiting)).toMatchObject({ phase: 'Pending', reason: 'OutOfcpu' });
    agent.delete('critical');
    await agent.untilState(waiting, 'Syncing.Settled');
    expect(startsOf(agent, waiting)[0]!.atMs).toBeGreaterThan(endOf(agent, victim)[0]!.atMs);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

test('room that was promised is free as soon as its preemptor is deleted', async () => {
  const agent = nodeWith('2');
  const [victim] = await running(agent, ['victim', wanting('1')], ['other', critical('500m')]);
  const uid = agent.create('critical', critical('1500m'));
  await agent.untilState(victim, 'Terminating.Stopping');
  const waiting = agent.create('waiting', wanting('500m'), 'file');
  await agent.clock.advance(100);
  expect(agent.state(waiting)).toBe('Syncing.Starting.AwaitingRoom');
  const deletedAtMs = agent.nowMs;
  agent.delete('critical');
  await agent.untilState(waiting, 'Syncing.Settled');
  expect(agent.told(waiting, /^ADMITTED/)[0]!.atMs).toBe(deletedAtMs);
  expect([startsOf(agent, uid), victims(agent)]).toEqual([[], ['victim']]);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

describe('the agent is killed while the victims end', () => {
  test.each([0, 300, 3_000, 20_000])(
    'and starts again after %d ms: the preemptor runs, but not while the victim runs',
    async (downMs) => {
      const { agent, victim, uid } = await endingVictim();
      agent.crash(downMs);
      await agent.untilState(uid, 'Syncing.Settled');
      await agent.untilState(victim, 'Terminated.Finished');
      const [ended] = agent.told(victim, /^container main .* has ended/);
      expect(startsOf(agent, uid)[0]!.atMs).toBeGreaterThan(ended!.atMs);
      expect(await agent.running()).toMatchObject([{ labels: { 'io.kubernetes.pod.uid': uid } }]);
      expect(await agent.verdict()).toEqual(ALL_WELL);
    },
  );
});

describe('a victim that hangs in its stop', () => {
  test.each([
    [2, 10],
    [20, 30],
  ])(
    'with a grace period of %d s is awaited for %d s, then another victim is chosen',
    async (terminationGracePeriodSeconds, patienceSeconds) => {
      const agent = nodeWith('2');
      const spec = wanting('1', '1s', { terminationGracePeriodSeconds });
      const uids = await running(agent, ['one', spec], ['other', spec]);
      // Of equal pods, the younger one is the victim.
      agent.runtime.podFaults.set(uids[1]!, { calls: { StopContainer: { hang: 1 } } });
      const begunAtMs = agent.nowMs;
      const uid = agent.create('critical', critical('1'));
      await agent.untilState(uid, 'Syncing.Settled');

      const [exceeded] = agent.told('other', /^event Warning ExceededGracePeriod/);
      const [second] = agent.told('one', /^event Warning Preempting/);
      expect(exceeded!.atMs).toBe(begunAtMs + patienceSeconds * 1000);
      expect([second!.atMs, victims(agent)]).toEqual([exceeded!.atMs, ['other', 'one']]);
      expect(agent.state(uids[1]!)).toMatch(/^Terminating/);
      expect(await agent.verdict()).toEqual(ALL_WELL);
    },
  );

  test('if there is no other candidate: the preemptor is rejected, and a static pod gets the room when the victim ends', async () => {
    const { agent, victim, uid } = await endingVictim(wanting('2', '1s'));
    agent.runtime.podFaults.set(victim, { anyCall: { hang: 1 } });
    const waiting = agent.create('waiting', wanting('2'), 'file');
    await agent.untilState(uid, 'Terminated.Finished');
    expect(agent.status(uid)).toMatchObject({ phase: 'Failed' });
    expect(agent.state(waiting)).toBe('Syncing.Starting.MakingRoom');
    agent.runtime.podFaults.clear();
    await agent.untilState(waiting, 'Syncing.Settled');
    expect([startsOf(agent, uid), victims(agent)]).toEqual([[], ['victim']]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('two critical pods in the same tick', () => {
  test('have different victims, and no other pod is ended', async () => {
    const agent = nodeWith('3');
    const spec = wanting('1');
    await running(agent, ['a', spec], ['b', spec], ['c', spec]);
    const uids = [agent.create('first', critical('1')), agent.create('second', critical('1'))];
    for (const uid of uids) await agent.untilState(uid, 'Syncing.Settled');
    expect(victims(agent)).toHaveLength(2);
    expect(new Set(victims(agent)).size).toBe(2);
    expect(await agent.running()).toHaveLength(3);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('have one victim if it frees enough room for both', async () => {
    const agent = nodeWith('3');
    await running(agent, ['big', wanting('2')], ['small', critical('1', CRITICAL + 1)]);
    const uids = [agent.create('first', critical('1')), agent.create('second', critical('1'))];
    for (const uid of uids) await agent.untilState(uid, 'Syncing.Settled');
    expect(victims(agent)).toEqual(['big']);
    expect(await agent.running()).toHaveLength(3);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('a victim that is also told to end for another reason', () => {
  const STUBBORN = wanting('2', '60s');

  test('a deletion with a shorter grace period: the room is free sooner', async () => {
    const { agent, victim, uid } = await endingVictim(STUBBORN);
    const deletedAtMs = agent.nowMs;
    agent.delete('victim', 1);
    await agent.untilState(uid, 'Syncing.Settled');
    expect(endOf(agent, victim)[0]!.atMs).toBeLessThan(deletedAtMs + 5_000);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('an eviction with a shorter grace period: its status says Evicted, and the room is free sooner (rule 5)', async () => {
    const { agent, victim, uid } = await endingVictim(STUBBORN);
    const evictedAtMs = agent.nowMs;
    const podStatus = { phase: 'Failed', reason: 'Evicted' } as const;
    const kill = agent.kill(victim, {
      evict: true,
      podStatus,
      podTerminationGracePeriodSecondsOverride: 1,
    });
    await agent.untilState(uid, 'Syncing.Settled');
    expect(agent.status(victim)).toMatchObject(podStatus);
    expect(kill.answers).toHaveLength(1);
    expect(kill.answers[0]!.atMs).toBeLessThan(evictedAtMs + 5_000);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('a deletion at the moment of the choice: the preemptor gets the room', async () => {
    const agent = nodeWith('2');
    const [victim] = await running(agent, ['victim', STUBBORN]);
    agent.atNext(/preemption: VICTIMS_SELECTED/, () => agent.delete('victim', 1));
    const uid = agent.create('critical', critical('2'));
    await agent.untilState(uid, 'Syncing.Settled');
    expect(agent.state(victim)).toBe('');
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('a static pod that is replaced in place on a full node', () => {
  async function fullNode() {
    const agent = nodeWith('2');
    const first = agent.create('web', wanting('1'), 'file');
    await agent.untilState(first, 'Syncing.Settled');
    await running(agent, ['other', wanting('1')]);
    return { agent, first };
  }

  test('gets the room of its predecessor, and no pod is preempted', async () => {
    const { agent, first } = await fullNode();
    const second = agent.create('web', wanting('1'), 'file');
    await agent.untilState(second, 'Syncing.Settled');
    expect(victims(agent)).toEqual([]);
    expect(agent.told(second, /^ADMITTED/)[0]!.atMs).toBe(endOf(agent, first)[0]!.atMs);
    expect(await agent.running()).toHaveLength(2);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('comes before other pods that wait for room', async () => {
    const { agent } = await fullNode();
    const waiting = agent.create('waiting', wanting('3'), 'file');
    await agent.clock.advance(100);
    const second = agent.create('web', wanting('1'), 'file');
    await agent.untilState(second, 'Syncing.Settled');
    expect([victims(agent), agent.state(waiting)]).toEqual([[], 'Syncing.Starting.AwaitingRoom']);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('by a larger pod: another pod is preempted', async () => {
    const { agent } = await fullNode();
    const second = agent.create('web', wanting('2'), 'file');
    await agent.untilState(second, 'Syncing.Settled');
    expect(victims(agent)).toEqual(['other']);
    expect(await agent.running()).toHaveLength(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

test('ordinary pods do not get room that is promised to a critical pod, even if it is free already', async () => {
  const agent = nodeWith('2');
  const [victim] = await running(agent, ['victim', wanting('1')], ['other', wanting('750m')]);
  // A quarter of a core is free, and the preemptor needs it.
  const uid = agent.create('critical', critical('1250m'));
  await agent.clock.advance(100);
  const storm: string[] = [];
  while (endOf(agent, victim).length === 0) {
    storm.push(agent.create(`storm-${storm.length}`, wanting('250m')));
    await agent.clock.advance(100);
  }
  await agent.untilState(uid, 'Syncing.Settled');
  expect(storm.length).toBeGreaterThan(20);
  expect(storm.flatMap((one) => startsOf(agent, one))).toEqual([]);
  expect(storm.filter((one) => agent.status(one)?.reason !== 'OutOfcpu')).toEqual([]);
  expect(victims(agent)).toEqual(['victim']);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

describe('a victim that is created again with its UID while it ends', () => {
  const again = (agent: SimulatedAgent) => agent.apply('victim', { kind: 'flap', times: 3 });

  test('does not get its room back: it is rejected', async () => {
    const { agent, victim, uid } = await endingVictim();
    again(agent);
    await agent.untilState(uid, 'Syncing.Settled');
    await agent.untilState(victim, 'Terminated.Finished');
    expect(startsOf(agent, victim)).toHaveLength(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('waits, if it is static, until the critical pod is gone', async () => {
    const agent = nodeWith('2');
    const victim = agent.create('victim', wanting('2', '5s', { priority: 1 }), 'file');
    await agent.untilState(victim, 'Syncing.Settled');
    const uid = agent.create('critical', critical('2'));
    await agent.untilState(victim, 'Terminating.Stopping');
    again(agent);
    await agent.untilState(uid, 'Syncing.Settled');
    await agent.untilState(victim, 'Syncing.Starting.AwaitingRoom');
    expect(agent.status(victim)).toMatchObject({ phase: 'Pending', reason: 'OutOfcpu' });
    agent.delete('critical');
    await agent.untilState(victim, 'Syncing.Settled');
    expect(startsOf(agent, victim)).toHaveLength(2);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

test('a critical pod is preempted by a pod of higher priority, and not by a pod of the same priority', async () => {
  const agent = nodeWith('2');
  const [equal] = await running(agent, ['equal', critical('2')]);
  const uid = agent.create('critical', critical('2'));
  await agent.untilState(uid, 'Terminated.Finished');
  expect([victims(agent), agent.state(equal)]).toEqual([[], 'Syncing.Settled']);
  const higher = agent.create('higher', critical('2', CRITICAL + 1));
  await agent.untilState(higher, 'Syncing.Settled');
  expect(agent.status(equal)).toMatchObject({
    phase: 'Failed',
    reason: PREEMPTING,
    message: PREEMPTING_MESSAGE,
  });
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

describe('a critical pod that is told to end before it may start, and that has old containers', () => {
  /** The pod ran, and its containers have died. The next agent starts with room for this pod or for the other pod. */
  async function died() {
    const agent = nodeWith('4');
    const [uid, other] = await running(agent, ['critical', critical('2')], ['other', wanting('2')]);
    agent.nodeFacts = room('2');
    // Until the node object says so.
    await agent.clock.advance(30_000);
    agent.crash(1_000);
    agent.runtime.killContainer(`${uid}.c1`, 1);
    agent.runtime.killSandbox(`${uid}.s1`);
    return { agent, uid, other: other! };
  }

  /** Removes the pod. Its stop fails at first, so its end takes a while. */
  async function giveUp(agent: SimulatedAgent, uid: string) {
    agent.runtime.podFaults.set(uid, { anyCall: { fail: 1 } });
    agent.apply('critical', { kind: 'remove' });
    await agent.untilState(uid, 'Terminating.BackingOff');
  }

  test('holds no room, and no pod is preempted for it', async () => {
    const { agent, uid, other } = await died();
    agent.apply('critical', { kind: 'remove' });
    // The pod is created and removed again while its old containers are being removed.
    await agent.untilCalled(uid, 'RemovePodSandbox');
    agent.apply('critical', { kind: 'create again' });
    await giveUp(agent, uid);
    await agent.clock.advance(1_000);
    expect([victims(agent), agent.state(other)]).toEqual([[], 'Syncing.Settled']);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('does not hold the room that was made for it', async () => {
    const { agent, uid, other } = await died();
    await agent.untilState(other, 'Terminating.Stopping');
    await giveUp(agent, uid);
    await agent.untilState(other, 'Terminated.Finished');
    expect(agent.state(uid)).toBe('Terminating.BackingOff');
    await running(agent, ['late', wanting('2')]);
    expect(victims(agent)).toEqual(['other']);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});
