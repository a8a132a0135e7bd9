/** Resizes for which other pods have to end or to give back, and what happens meanwhile. */
import { expect, test } from '@jest/globals';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const CRITICAL = { priority: 2_000_000_000 };
const NODE_CRITICAL = { priority: 2_000_001_000 };

function node(cpu: string): SimulatedAgent {
  const agent = new SimulatedAgent();
  agent.nodeFacts = simulatedNodeFacts({ cpu, memory: '4Gi', pods: '100' });
  return agent;
}

const wanting = (cpu: string, more: Partial<PodSpec> = {}, endSeconds = 5): PodSpec =>
  podSpec({
    containers: [container('main', `run term-takes=${endSeconds}s`, { resources: { requests: { cpu } } })],
    ...more,
  });

async function running(agent: SimulatedAgent, ...pods: readonly [name: string, spec: PodSpec][]) {
  const uids = pods.map(([name, spec]) => agent.create(name, spec));
  for (const uid of uids) await agent.untilState(uid, 'Syncing.Settled');
  return uids as [string, ...string[]];
}

const resize = (agent: SimulatedAgent, name: string, cpuMilli: number) =>
  agent.apply(name, { kind: 'resize', cpuMilli, memoryMiB: 128 });
const victims = (agent: SimulatedAgent) =>
  agent.history.filter(({ what }) => what === 'event Warning Preempting').map(({ who }) => who.split(' ')[1]);
const cpuOf = (agent: SimulatedAgent, uid: string) =>
  agent.status(uid)?.containerStatuses?.[0]?.allocatedResources?.cpu;
const pendingOf = (agent: SimulatedAgent, uid: string) =>
  agent.status(uid)?.conditions?.find(({ type }) => type === 'PodResizePending');

/** `endSeconds`: how long the growing pod takes to end. */
async function growing(endSeconds = 5) {
  const agent = node('2');
  const [victim, uid] = (await running(
    agent,
    ['victim', wanting('1')],
    ['dns', wanting('1', CRITICAL, endSeconds)],
  )) as [string, string];
  resize(agent, 'dns', 1_500);
  await agent.untilState(victim, 'Terminating.Stopping');
  return { agent, victim, uid };
}

test('a critical pod that wants more has another one ended for it, runs on, and has more once that has ended', async () => {
  const { agent, victim, uid } = await growing();
  expect(cpuOf(agent, uid)).toBe('1');
  const delay = () => agent.host.agentRun?.agent.supervisor.resizeDelay(uid)?.message;
  expect(delay()).toBe('waits for cpu=500m; default/victim is ending for it');
  await agent.until(() => cpuOf(agent, uid) === '1500m', 'the resize to be granted');
  expect(delay()).toBeUndefined();
  expect(victims(agent)).toEqual(['victim']);
  expect(agent.status(victim)).toMatchObject({ phase: 'Failed', reason: 'Preempting' });
  const [ended] = agent.told(victim, /^container main .* has ended/);
  const [granted] = agent.told('dns', /^event Normal ResizeStarted/);
  expect(granted!.atMs).toBeGreaterThanOrEqual(ended!.atMs);
  expect(agent.told(uid, /^container main .* runs/)).toHaveLength(1);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a pod that is not critical waits, and no pod ends for it', async () => {
  const agent = node('2');
  const [, uid] = (await running(
    agent,
    ['other', wanting('1')],
    ['web', wanting('1', { priority: 100 })],
  )) as [string, string];
  resize(agent, 'web', 1_500);
  await agent.until(() => pendingOf(agent, uid)?.reason === 'Deferred', 'the resize to be deferred');
  expect(victims(agent)).toEqual([]);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a resize to more than the node has is infeasible, and waits for no room; a smaller resize is granted', async () => {
  const agent = node('2');
  const [uid] = await running(agent, ['web', wanting('1', CRITICAL)], ['other', wanting('500m')]);
  resize(agent, 'web', 99_000);
  await agent.until(() => pendingOf(agent, uid) !== undefined, 'the resize to be refused');
  expect(pendingOf(agent, uid)).toMatchObject({
    reason: 'Infeasible',
    message: "Node didn't have enough capacity: cpu, requested: 99000, capacity: 2000",
  });
  expect(victims(agent)).toEqual([]);
  resize(agent, 'web', 1_500);
  await agent.until(() => cpuOf(agent, uid) === '1500m', 'the smaller resize to be granted');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a critical pod without a victim waits, and says what it lacks', async () => {
  const agent = node('2');
  const [, uid] = (await running(agent, ['a', wanting('1', CRITICAL)], ['b', wanting('1', CRITICAL)])) as [
    string,
    string,
  ];
  resize(agent, 'b', 1_500);
  await agent.until(() => pendingOf(agent, uid) !== undefined, 'the resize to be deferred');
  expect(pendingOf(agent, uid)).toMatchObject({
    reason: 'Deferred',
    message: "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
  });
  agent.delete('a');
  await agent.until(() => cpuOf(agent, uid) === '1500m', 'the resize to be granted');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('the room that is being made goes to no other pod, and is free when the pod does not want it any more', async () => {
  const { agent, victim, uid } = await growing();
  const waiting = agent.create('waiting', wanting('750m'), 'file');
  await agent.clock.advance(100);
  expect(agent.state(waiting)).toBe('Syncing.Starting.AwaitingRoom');
  resize(agent, 'dns', 1_000);
  await agent.untilState(waiting, 'Syncing.Settled');
  await agent.untilState(victim, 'Terminated.Finished');
  expect([cpuOf(agent, uid), pendingOf(agent, uid)]).toEqual(['1000m', undefined]);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a resize that waits is granted as soon as room is not being made for another pod any more', async () => {
  const agent = node('4');
  const [victim, , uid] = (await running(
    agent,
    ['victim', wanting('1')],
    ['dns', wanting('1', NODE_CRITICAL)],
    ['web', wanting('1', CRITICAL)],
  )) as [string, string, string];
  resize(agent, 'dns', 3_000);
  await agent.untilState(victim, 'Terminating.Stopping');
  resize(agent, 'web', 1_500);
  await agent.until(() => pendingOf(agent, uid) !== undefined, 'the resize to be deferred');
  resize(agent, 'dns', 1_000);
  await agent.until(() => cpuOf(agent, uid) === '1500m', 'the resize to be granted');
  expect([agent.state(victim), victims(agent)]).toEqual(['Terminating.Stopping', ['victim']]);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a pod that is ending by the time there is room for its resize does not get it', async () => {
  const { agent, victim, uid } = await growing(20);
  agent.kill(uid);
  await agent.untilState(victim, 'Terminated.Finished');
  expect(agent.state(uid)).toBe('Terminating.Stopping');
  expect(cpuOf(agent, uid)).toBe('1');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test.each([300, 20_000])(
  'the agent is killed while the victim ends, for %d ms: the pod gets its room',
  async (downMs) => {
    const { agent, uid } = await growing();
    agent.crash(downMs);
    await agent.until(
      () => agent.host.agentRun !== undefined && cpuOf(agent, uid) === '1500m',
      'the resize to be granted',
    );
    expect(await agent.verdict()).toEqual(ALL_WELL);
  },
);

test('a resize that waits stays what is asked for, and not what the pod has, for an agent that starts while its container waits too', async () => {
  const agent = node('2');
  const requests = { cpu: '1' };
  const [uid] = await running(agent, [
    'web',
    podSpec({
      containers: [
        container('main', 'run exit-after=1s code=1', { resources: { requests } }),
        container('side', 'run'),
      ],
    }),
  ]);
  await agent.until(
    () => agent.told(uid, /^container main .* has ended/).length > 1,
    'the back-off to begin',
  );
  resize(agent, 'web', 3_000);
  await agent.until(() => pendingOf(agent, uid) !== undefined, 'the resize to be deferred');
  agent.crash(300);
  await agent.until(
    () => agent.host.agentRun !== undefined && pendingOf(agent, uid) !== undefined,
    'the next agent',
  );
  expect(cpuOf(agent, uid)).toBe('1');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('what a resize gives back is offered to a pod that waits for room', async () => {
  const agent = node('2');
  await running(agent, ['large', wanting('2', CRITICAL)]);
  const waiting = agent.create('waiting', wanting('1'), 'file');
  await agent.untilState(waiting, 'Syncing.Starting.AwaitingRoom');
  resize(agent, 'large', 1_000);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test.each([
  ['larger', 500, 1_500],
  ['smaller', 1_500, 500],
])(
  'a resize to %s that an agent dies of, and that is taken back before the next one starts, leaves nothing behind',
  async (_, before, after) => {
    const agent = node('4');
    const [uid] = await running(agent, ['web', wanting('1')]);
    resize(agent, 'web', before);
    await agent.until(() => cpuOf(agent, uid) === `${before}m`, 'the first resize');
    await agent.clock.advance(10_000);
    resize(agent, 'web', after);
    // The runtime carries it out all the same.
    await agent.untilCalled(uid, 'UpdateContainerResources');
    agent.crash(1_000);
    await agent.until(() => agent.host.agentRun === undefined, 'the agent to be dead');
    resize(agent, 'web', before);
    await agent.until(() => agent.host.agentRun !== undefined, 'the next agent');
    await agent.untilState(uid, 'Syncing.Settled');
    expect(agent.told(uid, /^container main .* runs/)).toHaveLength(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  },
);
