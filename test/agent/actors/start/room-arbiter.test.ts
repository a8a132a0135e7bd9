import { afterEach, describe, expect, test } from '@jest/globals';
import type { Rejection } from '../../../../src/agent/policies/admission/rejection.ts';
import { allocationFromPod } from '../../../../src/agent/policies/resize/allocation.ts';
import type { PodNode } from '../../../../src/agent/runtime/node/pod-node.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import type { PodAllocation } from '../../../../src/types/runtime-pod.ts';
import { nodeOf } from '../../../support/admission.ts';
import { apiPod, startAgent, staticPod, type TestAgent } from '../../../support/agent.ts';
import { STUBBORN } from '../../../support/stubborn.ts';
import { waitFor } from '../../../support/wait-for.ts';

let agent: TestAgent;

afterEach(() => agent.cleanUp());

const uidOf = (name: string) => `uid-${name}`;

function requesting(cpu: string, { container, ...more }: Requesting = {}): Partial<PodSpec> {
  const resources = { requests: { cpu } };
  return {
    containers: [{ name: 'main', command: ['sleep', '1000'], resources, ...container }],
    terminationGracePeriodSeconds: 1,
    ...more,
  };
}
type Requesting = Partial<PodSpec> & { readonly container?: Partial<Container> };

const ordinary = (name: string, cpu: string, more?: Requesting) =>
  apiPod(name, uidOf(name), requesting(cpu, more));
const fromFile = (name: string, cpu: string, more?: Requesting) =>
  staticPod(name, uidOf(name), requesting(cpu, more));

async function start(allocatable: Readonly<Record<string, string>>): Promise<void> {
  agent = await startAgent({ nodeFacts: nodeOf(allocatable) });
  agent.ready();
}

/** On a node with a part that admits pods in that way. */
async function startAdmitting(admit: PodNode['admit'], withdraw?: PodNode['withdraw']): Promise<void> {
  agent = await startAgent({
    replaced: () => ({ admit, ...(withdraw && { withdraw }) }),
  });
  agent.ready();
}

/** On a node that has one device, which each pod gets by being admitted. `release`: what else is done once a pod has ended. */
async function startWithDevice(
  allocatable: Readonly<Record<string, string>>,
  release: PodNode['release'] = () => Promise.resolve(),
): Promise<{ readonly holder: () => string | undefined }> {
  let holder: string | undefined;
  const device: Pick<PodNode, 'admit' | 'withdraw'> = {
    admit: ({ metadata: { uid } }) => {
      holder ??= uid;
      return holder === uid ? undefined : { reason: 'UnexpectedAdmissionError', message: 'no device' };
    },
    withdraw: (uid) => {
      const isHolder = holder === uid;
      if (isHolder) holder = undefined;
      return isHolder;
    },
  };
  agent = await startAgent({
    nodeFacts: nodeOf(allocatable),
    replaced: ({ node }) => ({
      ...device,
      release: async (uid) => {
        await node.release(uid);
        await release(uid);
      },
    }),
  });
  agent.ready();
  return { holder: () => holder };
}

/** On a node that grants resizes, and whose runtime does not carry them out. */
async function openResizing(
  allocatable: Readonly<Record<string, string>>,
  { rootDir, sources, before, admit, allocation = () => undefined }: Resizing = {},
): Promise<void> {
  const resizer = {
    allocation,
    allocate: () => Promise.resolve(),
    refusal: () => undefined,
    resize: () => Promise.resolve('the runtime does not answer'),
  };
  agent = await startAgent({
    rootDir,
    sources,
    nodeFacts: nodeOf(allocatable),
    replaced: async ({ runtime }) => {
      await before?.(runtime);
      return { ...(admit && { admit }), resizer };
    },
  });
}

async function startResizing(allocatable: Readonly<Record<string, string>>): Promise<void> {
  await openResizing(allocatable);
  agent.ready();
}

interface Resizing {
  /** Of an agent before. */
  readonly rootDir?: string;
  readonly sources?: readonly string[];
  /** Called before the agent looks at the runtime. */
  readonly before?: (runtime: TestAgent['runtime']) => Promise<void>;
  readonly admit?: PodNode['admit'];
  /** What an agent before has granted. */
  readonly allocation?: (uid: string) => PodAllocation | undefined;
}

const runs = (name: string) => agent.until(uidOf(name), 'Syncing.Settled');
const isFinished = (name: string) => agent.until(uidOf(name), 'Terminated.Finished');
const waits = (name: string) => agent.until(uidOf(name), 'Syncing.Starting.AwaitingRoom');
const statusOf = (name: string) => agent.statusManager.get(uidOf(name));

async function add(...pods: Pod[]): Promise<void> {
  for (const pod of pods) {
    agent.add(pod);
    await runs(pod.metadata.name);
  }
}

describe('a pod from the API server', () => {
  test('that does not match the node is rejected, with the kubelet’s texts in status and event', async () => {
    await start({});
    agent.add(ordinary('picky', '1', { nodeSelector: { zone: 'elsewhere' } }));
    await isFinished('picky');
    expect(statusOf('picky')).toMatchObject({
      phase: 'Failed',
      reason: 'NodeAffinity',
      message:
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
    // Neither conditions nor container statuses: there have never been any.
    expect(Object.keys(statusOf('picky') ?? {}).sort()).toEqual(
      ['message', 'phase', 'qosClass', 'reason', 'startTime'].sort(),
    );
    expect(statusOf('picky')?.qosClass).toBe('Burstable');
    expect(agent.events.filter((event) => event.startsWith('picky'))).toEqual(['picky NodeAffinity']);
    expect(await agent.runtime.listPodSandbox()).toEqual([]);
  });

  test('cannot use the resources of a pod that is ending, and can use those of a pod that has ended', async () => {
    await start({ cpu: '1' });
    await add(ordinary('first', '1', { container: STUBBORN }));
    const ended = agent.supervisor.killPod(uidOf('first'));
    agent.add(ordinary('early', '1'));
    await isFinished('early');
    expect(statusOf('early')).toMatchObject({ reason: 'OutOfcpu' });
    expect(statusOf('early')?.message).toContain('requested: 1000, used: 1000, capacity: 1000');
    await ended;
    await add(ordinary('late', '1'));
  });

  test('that runs already keeps its resources when the agent starts again, even if the node has become smaller', async () => {
    await start({ cpu: '2' });
    const pods = [ordinary('one', '1'), ordinary('two', '1')];
    await add(...pods);
    const before = await agent.runtime.listContainers();
    await agent.detach();

    const { rootDir } = agent;
    agent = await startAgent({ rootDir, nodeFacts: nodeOf({ cpu: '1500m' }) });
    // The new pod asks first, but the resources are taken.
    agent.add(ordinary('new', '500m'), ...pods);
    agent.ready();
    await isFinished('new');
    expect(statusOf('new')?.message).toContain('used: 2000, capacity: 1500');
    await runs('one');
    await runs('two');
    expect(await agent.runtime.listContainers()).toEqual(before);
  });

  test('that is ending when the agent starts again holds its resources until it has ended', async () => {
    await start({ cpu: '1' });
    const old = ordinary('old', '1', { container: STUBBORN, terminationGracePeriodSeconds: 600 });
    await add(old);
    await agent.detach();

    const { rootDir } = agent;
    agent = await startAgent({ rootDir, nodeFacts: nodeOf({ cpu: '1' }) });
    const deletionTimestamp = '2030-01-01T00:00:00Z';
    agent.add({ ...old, metadata: { ...old.metadata, deletionTimestamp } });
    agent.ready();
    await agent.until('uid-old', 'Terminating.Stopping');
    agent.add(ordinary('new', '1'));
    await isFinished('new');
    expect(statusOf('new')?.reason).toBe('OutOfcpu');
    await agent.supervisor.killPod('uid-old', { podTerminationGracePeriodSecondsOverride: 1 });
  });

  test('is rejected if its admission check throws, and other pods go on', async () => {
    await startAdmitting(({ metadata }) => {
      if (metadata.name === 'odd') throw new Error('no idea');
      return metadata.name === 'late' ? Promise.reject(new Error('no answer')) : undefined;
    });
    agent.add(ordinary('odd', '1'), ordinary('late', '1'), ordinary('well', '1'));
    for (const [name, text] of [
      ['odd', 'no idea'],
      ['late', 'no answer'],
    ] as const) {
      await isFinished(name);
      expect(statusOf(name)).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
      expect(statusOf(name)?.message).toContain(text);
    }
    await runs('well');
  });

  test('waits in Admitting until a part of the node has admitted it, and holds up no other pod', async () => {
    const decision = Promise.withResolvers<Rejection | undefined>();
    await startAdmitting(({ metadata }) => (metadata.name === 'slow' ? decision.promise : undefined));
    agent.add(ordinary('slow', '1'), ordinary('well', '1'));
    await runs('well');
    expect(agent.state(uidOf('slow'))).toBe('Syncing.Starting.Admitting');
    decision.resolve(undefined);
    await runs('slow');
  });

  test('is rejected with the reason and the message of the part of the node that cannot have it', async () => {
    const rejection = { reason: 'UnexpectedAdmissionError', message: 'Allocate failed due to no device' };
    await startAdmitting(() => Promise.resolve(rejection));
    agent.add(ordinary('web', '1'));
    await isFinished('web');
    expect(statusOf('web')).toMatchObject({ phase: 'Failed', reason: rejection.reason });
    expect(statusOf('web')?.message).toContain(rejection.message);
    expect(agent.events).toContain('web UnexpectedAdmissionError');
  });

  test('that is deleted while a subsystem decides about it is forgotten, and the subsystem is called off', async () => {
    const asked: AbortSignal[] = [];
    await startAdmitting((_, signal) => {
      asked.push(signal);
      return new Promise(() => undefined);
    });
    const pod = ordinary('web', '1');
    agent.add(pod);
    await agent.until(uidOf('web'), 'Syncing.Starting.Admitting');
    agent.remove(pod);
    await agent.until(uidOf('web'), '');
    expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe('a static pod', () => {
  test('that does not fit waits, gives the reason once, and starts when there is room', async () => {
    await start({ cpu: '3' });
    const [big, small] = [fromFile('big', '2'), fromFile('small', '1')];
    await add(big, small);
    agent.add(fromFile('late', '2'));
    await waits('late');
    expect(statusOf('late')).toMatchObject({ phase: 'Pending', reason: 'OutOfcpu', qosClass: 'Burstable' });
    // It has not started: neither its age nor its deadline has begun.
    expect(statusOf('late')?.startTime).toBeUndefined();
    expect(statusOf('late')?.message).toContain('cpu, requested: 2000, used: 3000, capacity: 3000');
    agent.remove(small);
    await agent.until('uid-small', '');
    expect(agent.state('uid-late')).toBe('Syncing.Starting.AwaitingRoom');
    agent.remove(big);
    await runs('late');
    expect(agent.events.filter((event) => event === 'late OutOfcpu')).toHaveLength(2);
    expect(statusOf('late')).toMatchObject({ phase: 'Running' });
    expect(statusOf('late')?.reason).toBeUndefined();
  });

  test.each(['TopologyAffinityError', 'SMTAlignmentError'])(
    'waits where %s is due to what others have, and ends where it never can be admitted',
    async (reason) => {
      let isTaken = true;
      await startAdmitting(({ metadata: { name } }) => {
        if (name === 'odd') return { reason, message: 'an odd number', isForGood: true };
        return name === 'late' && isTaken ? { reason, message: 'nothing near' } : undefined;
      });
      const first = fromFile('first', '1');
      await add(first);
      agent.add(fromFile('late', '1'), fromFile('odd', '1'));
      await waits('late');
      expect(statusOf('late')).toMatchObject({ phase: 'Pending', reason });
      await isFinished('odd');
      expect(statusOf('odd')).toMatchObject({ phase: 'Failed', reason });
      isTaken = false;
      agent.remove(first);
      await runs('late');
    },
  );

  test('that lacks only devices of a pod which is refused afterwards asks again, once', async () => {
    let holder: string | undefined;
    const answers: { readonly name: string; readonly answer: (rejection: Rejection | undefined) => void }[] =
      [];
    const NO_DEVICE = { reason: 'UnexpectedAdmissionError', message: 'no device' };
    const device: Pick<PodNode, 'admit' | 'withdraw'> = {
      admit: ({ metadata: { uid, name } }) => {
        holder ??= uid;
        if (holder !== uid) return NO_DEVICE;
        const { promise, resolve } = Promise.withResolvers<Rejection | undefined>();
        answers.push({ name, answer: resolve });
        return promise;
      },
      withdraw: (uid) => {
        const isHolder = holder === uid;
        if (isHolder) holder = undefined;
        return isHolder;
      },
    };
    agent = await startAgent({
      replaced: () => device,
    });
    agent.ready();
    agent.add(fromFile('slow', '1'));
    await agent.until(uidOf('slow'), 'Syncing.Starting.Admitting');
    agent.add(fromFile('quick', '1'));
    await waits('quick');
    answers[0]?.answer({ reason: 'UnexpectedAdmissionError', message: 'the plugin is on fire' });
    await agent.until(uidOf('quick'), 'Syncing.Starting.Admitting');
    await waits('slow');
    answers[1]?.answer({ reason: 'UnexpectedAdmissionError', message: 'the plugin is on fire' });
    await waits('quick');
    expect(answers.map(({ name }) => name)).toEqual(['slow', 'quick']);
    expect(agent.state(uidOf('slow'))).toBe('Syncing.Starting.AwaitingRoom');
  });

  test('whose host port is taken waits for the port', async () => {
    await start({});
    const containers = [
      { name: 'main', command: ['sleep', '1000'], ports: [{ containerPort: 80, hostPort: 8080 }] },
    ];
    const holder = staticPod('holder', 'uid-holder', { containers });
    await add(holder);
    agent.add(staticPod('next', 'uid-next', { containers }));
    await waits('next');
    expect(statusOf('next')).toMatchObject({ phase: 'Pending', reason: 'NodePorts' });
    agent.remove(holder);
    await runs('next');
  });

  test('that waited for room has no reason OutOfcpu in its status after it starts', async () => {
    await start({ cpu: '1' });
    const holder = fromFile('holder', '1');
    await add(holder);
    // It stays in phase Pending.
    const initContainers = [{ name: 'init', command: ['sleep', '1000'] }];
    agent.add(fromFile('late', '1', { initContainers }));
    await waits('late');
    agent.remove(holder);
    await runs('late');
    const { phase, reason, message } = statusOf('late') ?? {};
    expect({ phase, reason, message }).toEqual({ phase: 'Pending' });
  });

  test('that waits for a device gets it as soon as nothing of its holder runs, however long the rest of its end takes', async () => {
    const rest = Promise.withResolvers<undefined>();
    await startWithDevice({}, (uid) => (uid === 'uid-holder' ? rest.promise : Promise.resolve()));
    const holder = fromFile('holder', '1');
    await add(holder);
    agent.add(fromFile('late', '1'));
    await waits('late');
    agent.remove(holder);
    await runs('late');
    expect(agent.state('uid-holder')).toBe('Terminated.CleaningUp');
    rest.resolve(undefined);
    await agent.until('uid-holder', '');
  });

  test('that lacks something asks again if another pod has ended while it was judged', async () => {
    const first = Promise.withResolvers<Rejection | undefined>();
    const answers = [first.promise];
    await startAdmitting(({ metadata: { uid } }) => (uid === uidOf('web') ? answers.shift() : undefined));
    await add(fromFile('other', '1'));
    agent.add(fromFile('web', '1'));
    await agent.until(uidOf('web'), 'Syncing.Starting.Admitting');
    agent.remove(fromFile('other', '1'));
    await agent.until(uidOf('other'), '');
    first.resolve({ reason: 'UnexpectedAdmissionError', message: 'no device' });
    await runs('web');
  });

  test('gives back what the parts of the node may have for it, and what they set aside at a try that led to nothing', async () => {
    const told: string[] = [];
    const answers = [new Promise<never>(() => undefined)];
    await startAdmitting(
      () => {
        told.push('admit');
        return answers.shift();
      },
      () => told.push('withdraw') > 0,
    );
    agent.add(fromFile('web', '1'));
    await agent.until(uidOf('web'), 'Syncing.Starting.Admitting');
    agent.supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'it has died' });
    await agent.until(uidOf('web'), 'Syncing.Starting.AwaitingRuntime');
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    await runs('web');
    expect(told).toEqual(['withdraw', 'admit', 'withdraw', 'admit']);
  });

  test('that waits for room does not keep the device that another pod could use', async () => {
    const device = await startWithDevice({ cpu: '1' });
    agent.add(fromFile('large', '2'));
    await waits('large');
    expect(statusOf('large')).toMatchObject({ reason: 'OutOfcpu' });
    expect(device.holder()).toBeUndefined();
    await add(fromFile('small', '1'));
    expect(device.holder()).toBe('uid-small');
  });

  test('that runs when the agent starts, and is rejected then, is ended; its status has the reason, but no containers', async () => {
    await start({});
    const pod = fromFile('moved', '1', { nodeSelector: { zone: 'here' } });
    const admitted = { ...pod, spec: { ...pod.spec, nodeSelector: {} } };
    await add(admitted);
    await agent.detach();
    agent = await startAgent({ rootDir: agent.rootDir, nodeFacts: nodeOf({}) });
    agent.ready();
    agent.add(pod);
    await isFinished('moved');
    const status = statusOf('moved');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
    expect(status?.containerStatuses).toBeUndefined();
    expect(status?.conditions).toBeUndefined();
    const states = (await agent.runtime.listContainers()).map(({ state }) => state);
    expect(states).not.toContain('CONTAINER_RUNNING');
  });

  test('that may not run on the node for another reason than room is rejected', async () => {
    await start({ cpu: '1' });
    agent.add(fromFile('picky', '1', { nodeSelector: { zone: 'elsewhere' } }));
    await isFinished('picky');
    expect(statusOf('picky')).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
  });

  test('with the highest priority starts first if several wait, and a removed pod does not start', async () => {
    await start({ cpu: '1' });
    const holder = fromFile('holder', '1', { priority: 3_000 });
    await add(holder);
    const removed = fromFile('removed', '1', { priority: 2_000 });
    agent.add(fromFile('humble', '1'), removed, fromFile('important', '1', { priority: 1_000 }));
    for (const name of ['humble', 'removed', 'important']) await waits(name);
    agent.remove(removed);
    await agent.until('uid-removed', '');
    agent.remove(holder);
    await runs('important');
    expect(agent.state('uid-humble')).toBe('Syncing.Starting.AwaitingRoom');
  });

  test('that replaces another pod of its name gets the resources of that pod, and no pod is preempted', async () => {
    await start({ cpu: '2' });
    const old = fromFile('web', '1', { container: STUBBORN });
    await add(old, ordinary('other', '1'));
    agent.add({ ...old, metadata: { ...old.metadata, uid: 'uid-new' } });
    agent.remove(old);
    await agent.until('uid-new', 'Syncing.Settled');
    expect(agent.events.filter((event) => event.includes('Preempt'))).toEqual([]);
    expect(agent.state('uid-other')).toBe('Syncing.Settled');
  });
});

test('a pod that never started holds no resources', async () => {
  await start({ cpu: '1' });
  agent.supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'the test has not begun' });
  const gone = ordinary('gone', '1');
  agent.add(gone);
  await agent.until('uid-gone', 'Syncing.Starting.AwaitingRuntime');
  agent.remove(gone);
  await agent.until('uid-gone', '');
  agent.supervisor.send({ type: 'RUNTIME_READY' });
  await add(ordinary('web', '1'));
  await waitFor(async () => (await agent.runtime.listContainers()).length === 1, { what: 'web to be alone' });
});

test('what a resize gives back is offered to the pods that wait for room', async () => {
  await startResizing({ pods: '10', cpu: '2' });
  await add(fromFile('large', '2'));
  agent.add(fromFile('waiting', '1'));
  await waits('waiting');
  agent.update(fromFile('large', '500m'));
  await runs('waiting');
  expect(statusOf('large')?.conditions).toContainEqual(
    expect.objectContaining({ type: 'PodResizeInProgress', status: 'True' }),
  );
});

test('a resize for which there is no room is deferred, and granted once another pod has ended', async () => {
  await startResizing({ pods: '10', cpu: '2' });
  await add(ordinary('small', '500m'), ordinary('other', '1'));
  agent.update(ordinary('small', '1500m'));
  const hasCondition = (type: string) =>
    statusOf('small')?.conditions?.some((condition) => condition.type === type) === true;
  await waitFor(() => hasCondition('PodResizePending'), { what: 'the resize to be deferred' });
  expect(hasCondition('PodResizeInProgress')).toBe(false);
  agent.remove(ordinary('other', '1'));
  await waitFor(() => hasCondition('PodResizeInProgress'), { what: 'the resize to be granted' });
  expect(hasCondition('PodResizePending')).toBe(false);
});

/** The next agent, which has read `file` and not `api`, on a node whose runtime still has the pod, of which nothing runs. */
async function openAfter(pod: Pod, resizing: Resizing): Promise<void> {
  await startResizing({ pods: '10', cpu: '2' });
  agent.add(pod);
  await waitFor(
    async () => (await agent.runtime.listContainers()).some(({ state }) => state === 'CONTAINER_EXITED'),
    { what: 'the container to end' },
  );
  await agent.detach();
  await openResizing(
    { pods: '10', cpu: '2' },
    {
      rootDir: agent.rootDir,
      sources: ['file', 'api'],
      before: async (runtime) => {
        for (const { id } of await runtime.listPodSandbox()) await runtime.stopPodSandbox(id);
      },
      allocation: (uid) => (uid === pod.metadata.uid ? allocationFromPod(pod) : undefined),
      ...resizing,
    },
  );
}

const ending = (cpu: string) => fromFile('web', cpu, { container: { command: ['true'] } });

test('a resize that comes while the next agent judges the room for a pod counts as soon as the pod is admitted', async () => {
  const asked = Promise.withResolvers<undefined>();
  const judged = Promise.withResolvers<undefined>();
  await openAfter(ending('500m'), {
    admit: () => {
      asked.resolve(undefined);
      return judged.promise;
    },
  });
  agent.add(ending('1500m'));
  agent.ready();
  await asked.promise;
  // Resizes are granted from now on.
  agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'api' });
  judged.resolve(undefined);
  await waitFor(() => agent.supervisor.reserved.amount('cpu') > 0, { what: 'web to be admitted' });
  expect(agent.supervisor.reserved.amount('cpu')).toBe(1500);
});

test('a pod asks for less where there is no room for what an earlier agent has granted it', async () => {
  await openAfter(ending('1500m'), {});
  agent.ready();
  await add(fromFile('other', '1'));
  agent.add(ending('500m'));
  await waitFor(() => agent.supervisor.reserved.amount('cpu') === 1500, { what: 'web to be admitted' });
});

test('a resize that comes while the room for a new pod is judged counts as soon as the pod is admitted', async () => {
  const judged = Promise.withResolvers<undefined>();
  await openResizing({ pods: '10', cpu: '2' }, { admit: () => judged.promise });
  agent.ready();
  agent.add(fromFile('web', '1500m'));
  await agent.until(uidOf('web'), 'Syncing.Starting.Admitting');
  agent.update(fromFile('web', '500m'));
  judged.resolve(undefined);
  await runs('web');
  expect(agent.supervisor.reserved.amount('cpu')).toBe(500);
});
