import { afterEach, describe, expect, test } from '@jest/globals';
import { createActor, type InspectionEvent, setup } from 'xstate';
import { Preemptions } from '../../../../src/agent/actors/start/preemptions.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { nodeOf, requestingPod } from '../../../support/admission.ts';
import { apiPod, startAgent, type TestAgent } from '../../../support/agent.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { STUBBORN } from '../../../support/stubborn.ts';
import { testContext } from '../../../support/test-context.ts';

let agent: TestAgent;
let measurements: RecordedMeasurements;

afterEach(() => agent.cleanUp());

const CRITICAL = 2_000_000_000;

const uidOf = (name: string) => `uid-${name}`;

interface Asked {
  readonly priority?: number;
  readonly container?: Partial<Container>;
  readonly limits?: Readonly<Record<string, string>>;
}

function pod(name: string, cpu: string | undefined, { priority, container, limits }: Asked = {}): Pod {
  const resources = { ...(cpu && { requests: { cpu } }), ...(limits && { limits }) };
  const spec: Partial<PodSpec> = {
    containers: [{ name: 'main', command: ['sleep', '1000'], resources, ...container }],
    terminationGracePeriodSeconds: 1,
    ...(priority !== undefined && { priority }),
  };
  return apiPod(name, uidOf(name), spec);
}
const critical = (name: string, cpu: string) => pod(name, cpu, { priority: CRITICAL });

async function start(allocatable: Readonly<Record<string, string>>, ...pods: Pod[]): Promise<void> {
  measurements = new RecordedMeasurements();
  agent = await startAgent({ nodeFacts: nodeOf(allocatable), measurements });
  await fill(...pods);
}

async function fill(...pods: Pod[]): Promise<void> {
  agent.ready();
  for (const one of pods) {
    agent.add(one);
    await runs(one.metadata.name);
  }
}

const runs = (name: string) => agent.until(uidOf(name), 'Syncing.Settled');
const isFinished = (name: string) => agent.until(uidOf(name), 'Terminated.Finished');
const isStopping = (name: string) => agent.until(uidOf(name), 'Terminating.Stopping');
const statusOf = (name: string) => agent.statusManager.get(uidOf(name));
const reasonOf = (name: string) => statusOf(name)?.reason;
const preempted = () =>
  agent.events.filter((event) => event.endsWith(' Preempting')).map((event) => event.split(' ')[0]);

describe('a critical pod that does not fit', () => {
  test('preempts the pod whose request is nearest: the victim has the kubelet’s status, and other pods go on', async () => {
    await start({ cpu: '4' }, pod('small', '500m'), pod('right', '2'), pod('best-effort', undefined));
    await fill(pod('large', '1500m', { limits: { cpu: '1500m', memory: '1Gi' } }));
    agent.add(critical('dns', '2'));
    await runs('dns');
    await isFinished('right');
    expect(preempted()).toEqual(['right']);
    expect(measurements.told.filter((line) => line.startsWith('preempted'))).toEqual(['preempted for cpu']);
    expect(statusOf('right')).toMatchObject({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    expect(statusOf('right')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    expect(agent.log).toContainEqual(
      expect.stringMatching(/^Preemption: missing cpu=\S+; among \d+ candidates: /),
    );
    expect(agent.events.filter((event) => event.startsWith('dns'))).not.toContain('dns PreemptionDecision');
    for (const name of ['small', 'best-effort', 'large'])
      expect(agent.state(uidOf(name))).toBe('Syncing.Settled');
    expect(agent.supervisor.registry.shouldPodContentBeRemoved('uid-right')).toBe(true);
  });

  test('starts only once its victim has ended', async () => {
    await start({ cpu: '1' }, pod('slow', '1', { container: STUBBORN }));
    agent.add(critical('dns', '1'));
    await isStopping('slow');
    expect(agent.state('uid-dns')).toBe('Syncing.Starting.MakingRoom');
    const { delay } = agent.supervisor.registry.get('uid-dns')!.actor.getSnapshot().context;
    expect(delay?.message).toBe('waits for cpu=1000m; default/slow is ending for it');
    await runs('dns');
    expect(agent.supervisor.registry.isPodKnownTerminated('uid-slow')).toBe(true);
  });

  test('is rejected if no pod may be ended for it', async () => {
    await start({ cpu: '1' }, critical('first', '1'));
    agent.add(critical('second', '1'));
    await isFinished('second');
    expect(statusOf('second')).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(measurements.told).toContain('rejected: UnexpectedAdmissionError');
    expect(statusOf('second')?.message).toContain(
      'preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources',
    );
    expect(agent.state('uid-first')).toBe('Syncing.Settled');
  });

  test('is rejected, and no pod is preempted, if it may not run on the node for another reason', async () => {
    await start({ cpu: '1' }, pod('web', '1'));
    const picky = critical('picky', '1');
    agent.add({ ...picky, spec: { ...picky.spec, nodeSelector: { zone: 'elsewhere' } } });
    await isFinished('picky');
    expect(reasonOf('picky')).toBe('NodeAffinity');
    expect(preempted()).toEqual([]);
  });

  test('preempts a pod whose requests have become smaller: the resources that it holds are those of its admission', async () => {
    await start({ cpu: '1' }, pod('web', '1'));
    agent.update(pod('web', '100m'));
    agent.add(critical('dns', '800m'));
    await runs('dns');
    expect(preempted()).toEqual(['web']);
  });

  test('waits for a pod that is ending already, and no other pod is preempted', async () => {
    await start({ cpu: '2' }, pod('leaving', '1', { container: STUBBORN }), pod('web', '1'));
    agent.remove(pod('leaving', '1'));
    await isStopping('leaving');
    agent.add(critical('dns', '1'));
    await runs('dns');
    expect(preempted()).toEqual([]);
    expect(agent.state('uid-web')).toBe('Syncing.Settled');
  });
});

describe('while room is being made', () => {
  test('a second critical pod has its own victim', async () => {
    await start(
      { cpu: '2' },
      pod('one', '1', { container: STUBBORN }),
      pod('two', '1', { container: STUBBORN }),
    );
    agent.add(critical('first', '1'), critical('second', '1'));
    await Promise.all([runs('first'), runs('second')]);
    expect(preempted().toSorted()).toEqual(['one', 'two']);
  });

  test('an ordinary pod does not get that room', async () => {
    await start(
      { cpu: '3' },
      pod('quick', '1'),
      pod('slow', '1', { container: STUBBORN, priority: 1 }),
      critical('other', '1'),
    );
    agent.add(critical('dns', '2'));
    await isStopping('slow');
    await isFinished('quick');
    agent.add(pod('pushy', '1'));
    await isFinished('pushy');
    expect(reasonOf('pushy')).toBe('OutOfcpu');
    await runs('dns');
  });

  test('the preemptor may be deleted: the next pod gets the room', async () => {
    await start({ cpu: '1' }, pod('slow', '1', { container: STUBBORN }));
    const dns = critical('dns', '1');
    agent.add(dns);
    await isStopping('slow');
    agent.remove(dns);
    await agent.until('uid-dns', '');
    agent.add(critical('next', '1'));
    await runs('next');
    expect(preempted()).toEqual(['slow']);
  });

  test('a victim may be evicted: its status says Evicted', async () => {
    await start({ cpu: '1' }, pod('slow', '1', { container: STUBBORN }));
    agent.add(critical('dns', '1'));
    await isStopping('slow');
    await agent.supervisor.killPod('uid-slow', { podStatus: { phase: 'Failed', reason: 'Evicted' } });
    await runs('dns');
    await isFinished('slow');
    expect(reasonOf('slow')).toBe('Evicted');
  });
});

describe('among victims that are otherwise equal', () => {
  const equals = [
    pod('high', '1', { priority: 9 }),
    pod('low', '1', { priority: 1 }),
    pod('mid', '1', { priority: 5 }),
  ];

  test('the pod with the lowest priority is preempted', async () => {
    await start({ cpu: '3' }, ...equals);
    agent.add(critical('dns', '1'));
    await runs('dns');
    expect(preempted()).toEqual(['low']);
  });

  test('the last pod is preempted if preemptionLowerPriorityFirst is false, as in the kubelet', async () => {
    agent = await startAgent({ nodeFacts: nodeOf({ cpu: '3' }), preemptionLowerPriorityFirst: false });
    await fill(...equals);
    agent.add(critical('dns', '1'));
    await runs('dns');
    expect(preempted()).toEqual(['mid']);
  });
});

const preemptor = requestingPod('critical', { requests: { cpu: '2' }, critical: true });

const silent = () => undefined;

test('a pod that ends by rejection has been rejected before it is gone', () => {
  const told: string[] = [];
  const inspect = (event: InspectionEvent) => {
    if (event.type === '@xstate.microstep') told.push(event.event.type);
  };
  const parent = createActor(setup({}).createMachine({}), { inspect }).start();
  const preemptions: Preemptions = new Preemptions(testContext({ parent }), {
    podOf: () => preemptor,
    facts: () => ({
      node: nodeOf({ cpu: '1' }),
      holders: [],
      lowerPriorityFirst: true,
      room: { ending: new Set(), promisedTo: [] },
    }),
    holds: () => false,
    kill: silent,
    gracePeriodSeconds: () => 30,
    admit: () => ({ kind: 'admitted' }),
    // A pod that has never started is finished at once.
    reject: (uid) => preemptions.ended(uid),
    onPromiseOver: silent,
    preempting: silent,
  });
  preemptions.begin(preemptor.metadata);
  const ends = told.filter((type) => ['REJECTED', 'PREEMPTOR_GONE'].includes(type));
  expect(ends[0]).toBe('REJECTED');
  expect(preemptions.has('critical')).toBe(false);
});
