import { describe, expect, test } from '@jest/globals';
import {
  countedStatuses,
  podSummary,
  podSummaryIn,
} from '../../../../src/agent/policies/status/pod-table.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';

const END = '2030-01-01T00:00:00Z';

function container(
  name: string,
  state: ContainerStatus['state'],
  more: Partial<ContainerStatus> = {},
): ContainerStatus {
  return { name, image: 'i', imageID: '', ready: false, restartCount: 0, ...(state && { state }), ...more };
}
const running = (name = 'a', more: Partial<ContainerStatus> = {}) =>
  container(name, { running: { startedAt: END } }, { ready: true, started: true, ...more });
const waiting = (reason: string, name = 'a', more: Partial<ContainerStatus> = {}) =>
  container(name, { waiting: { reason } }, more);
const ended = (exitCode: number, reason = '', name = 'a', signal = 0) =>
  container(name, { terminated: { exitCode, signal, ...(reason !== '' && { reason }) } });

interface Given {
  readonly init?: readonly string[];
  readonly sidecars?: readonly string[];
  readonly main?: readonly string[];
  readonly deleted?: boolean;
  readonly status?: PodStatus;
}

function pod({ init = [], sidecars = [], main = ['a'], deleted = false, status }: Given): Pod {
  const initContainers = [
    ...init.map((name) => ({ name })),
    ...sidecars.map((name) => ({ name, restartPolicy: 'Always' })),
  ];
  return {
    metadata: { name: 'p', namespace: 'n', uid: 'u', ...(deleted && { deletionTimestamp: END }) },
    spec: { initContainers, containers: main.map((name) => ({ name })) },
    ...(status && { status }),
  };
}

const conditions = (...types: string[]) => types.map((type) => ({ type, status: 'True' }));

describe('STATUS is what kubectl get pods shows', () => {
  const cases: [string, Given, string][] = [
    ['no status yet', {}, 'Unknown'],
    ['only a phase', { status: { phase: 'Pending' } }, 'Pending'],
    ['a reason beats the phase', { status: { phase: 'Failed', reason: 'Evicted' } }, 'Evicted'],
    [
      'scheduling gates beat both',
      {
        status: {
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
        },
      },
      'SchedulingGated',
    ],
    [
      'a running container keeps the phase',
      { status: { phase: 'Running', containerStatuses: [running()] } },
      'Running',
    ],
    [
      'a waiting container names it',
      { status: { phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] } },
      'CrashLoopBackOff',
    ],
    [
      'a completed container',
      { status: { phase: 'Succeeded', containerStatuses: [ended(0, 'Completed')] } },
      'Completed',
    ],
    [
      'an exit code without a reason',
      { status: { phase: 'Failed', containerStatuses: [ended(7)] } },
      'ExitCode:7',
    ],
    [
      'a signal without a reason',
      { status: { phase: 'Failed', containerStatuses: [ended(137, '', 'a', 9)] } },
      'Signal:9',
    ],
    [
      'the first container in order wins',
      {
        main: ['a', 'b'],
        status: {
          phase: 'Running',
          containerStatuses: [ended(1, 'Error'), waiting('CrashLoopBackOff', 'b')],
        },
      },
      'Error',
    ],
    [
      'one completed and one running, pod ready',
      {
        main: ['a', 'b'],
        status: {
          phase: 'Running',
          conditions: conditions('Ready'),
          containerStatuses: [ended(0, 'Completed'), running('b')],
        },
      },
      'Running',
    ],
    [
      'one completed and one running, pod not ready',
      {
        main: ['a', 'b'],
        status: { phase: 'Running', containerStatuses: [ended(0, 'Completed'), running('b')] },
      },
      'NotReady',
    ],
    [
      'the second of two init containers runs',
      {
        init: ['i', 'j'],
        status: {
          phase: 'Pending',
          initContainerStatuses: [ended(0, 'Completed', 'i'), running('j')],
          containerStatuses: [waiting('PodInitializing')],
        },
      },
      'Init:1/2',
    ],
    [
      'an init container waits for its turn',
      { init: ['i'], status: { phase: 'Pending', initContainerStatuses: [waiting('PodInitializing', 'i')] } },
      'Init:0/1',
    ],
    [
      'a failed init container',
      { init: ['i'], status: { phase: 'Failed', initContainerStatuses: [ended(1, 'Error', 'i')] } },
      'Init:Error',
    ],
    [
      'a failed init container without a reason',
      { init: ['i'], status: { phase: 'Failed', initContainerStatuses: [ended(3, '', 'i')] } },
      'Init:ExitCode:3',
    ],
    [
      'an init container killed by a signal',
      { init: ['i'], status: { phase: 'Failed', initContainerStatuses: [ended(137, '', 'i', 9)] } },
      'Init:Signal:9',
    ],
    [
      'a crashing init container',
      {
        init: ['i'],
        status: { phase: 'Pending', initContainerStatuses: [waiting('CrashLoopBackOff', 'i')] },
      },
      'Init:CrashLoopBackOff',
    ],
    [
      'an initialized pod shows its containers even when an init container runs again',
      {
        init: ['i'],
        status: {
          phase: 'Running',
          conditions: conditions('Initialized'),
          initContainerStatuses: [running('i')],
          containerStatuses: [waiting('CrashLoopBackOff')],
        },
      },
      'CrashLoopBackOff',
    ],
    [
      'a deleted pod that runs',
      { deleted: true, status: { phase: 'Running', containerStatuses: [running()] } },
      'Terminating',
    ],
    [
      'a deleted pod that has ended',
      { deleted: true, status: { phase: 'Failed', reason: 'Evicted' } },
      'Evicted',
    ],
    [
      'a deleted pod of a lost node',
      { deleted: true, status: { phase: 'Running', reason: 'NodeLost' } },
      'Unknown',
    ],
  ];
  test.each(cases)('%s', (_, given, want) => {
    expect(podSummary(pod(given)).status).toBe(want);
  });
});

describe('READY and RESTARTS', () => {
  test('a started sidecar counts on both sides of READY', () => {
    const status = {
      phase: 'Running',
      initContainerStatuses: [running('s')],
      containerStatuses: [running('a'), running('b', { ready: false })],
    };
    expect(podSummary(pod({ sidecars: ['s'], main: ['a', 'b'], status }))).toMatchObject({
      ready: 2,
      total: 3,
    });
  });

  test('no regular container counts as ready before the init containers are done', () => {
    const status = {
      phase: 'Pending',
      initContainerStatuses: [running('i')],
      containerStatuses: [running('a')],
    };
    expect(podSummary(pod({ init: ['i'], status }))).toMatchObject({ ready: 0, total: 1 });
  });

  test('during initialization the restarts of init containers count, after it those of sidecars and regular containers', () => {
    const initContainerStatuses = [waiting('CrashLoopBackOff', 'i', { restartCount: 3 })];
    const before = { phase: 'Pending', initContainerStatuses, containerStatuses: [] };
    expect(podSummary(pod({ init: ['i'], sidecars: ['s'], status: before })).restarts).toBe(3);
    const after = {
      phase: 'Running',
      initContainerStatuses: [
        { ...ended(0, 'Completed', 'i'), restartCount: 3 },
        running('s', { restartCount: 2 }),
      ],
      containerStatuses: [running('a', { restartCount: 5 })],
    };
    expect(podSummary(pod({ init: ['i'], sidecars: ['s'], status: after })).restarts).toBe(7);
  });

  test('the last restart is at the latest end of an earlier instance', () => {
    const lastState = (finishedAt: string) => ({
      lastState: { terminated: { exitCode: 1, finishedAt } },
      restartCount: 1,
    });
    const containerStatuses = [
      running('a', lastState('2030-01-01T00:00:05Z')),
      running('b', lastState('2030-01-01T00:00:03Z')),
    ];
    const summary = podSummary(pod({ main: ['a', 'b'], status: { phase: 'Running', containerStatuses } }));
    expect(summary).toMatchObject({ restarts: 2, lastRestart: '2030-01-01T00:00:05Z' });
    expect(podSummary(pod({})).lastRestart).toBeUndefined();
  });
});

test('STATUS of a pod that is ending is Terminating until its phase is terminal, whether it is deleted or not', () => {
  const status = { phase: 'Running', containerStatuses: [running()] };
  expect(podSummary(pod({ status }), true).status).toBe('Terminating');
  expect(podSummary(pod({ status })).status).toBe('Running');
  const gone = { phase: 'Succeeded', containerStatuses: [ended(0, 'Completed')] };
  expect(podSummary(pod({ status: gone }), true).status).toBe('Completed');
  const lost = { phase: 'Running', reason: 'NodeLost' };
  expect(podSummary(pod({ status: lost }), true).status).toBe('Terminating');
});

test('without a restart there is no time of the last restart', () => {
  const before = { lastState: { terminated: { exitCode: 1, finishedAt: END } } };
  const once = { phase: 'Running', containerStatuses: [running('a', before)] };
  expect(podSummary(pod({ status: once }))).toMatchObject({ restarts: 0 });
  expect(podSummary(pod({ status: once })).lastRestart).toBeUndefined();
});

describe('with the state of its chart', () => {
  const served = pod({
    sidecars: ['proxy'],
    init: ['first'],
    status: {
      phase: 'Running',
      conditions: conditions('Initialized'),
      initContainerStatuses: [ended(0, 'Completed', 'first'), running('proxy')],
      containerStatuses: [running()],
    },
  });

  test('a pod that is being ended is Terminating, though its object does not say so', () => {
    expect(podSummaryIn(served, 'Terminating.Stopping').status).toBe('Terminating');
    expect(podSummaryIn(served, 'Syncing.Draining').status).toBe('Terminating');
    expect(podSummaryIn(served, 'Syncing.Settled').status).toBe('Running');
  });

  test('one that has ended says why', () => {
    const evicted = { ...served, status: { ...served.status!, reason: 'Evicted' } };
    expect(podSummaryIn(evicted, 'Terminated.Finished').status).toBe('Evicted');
    expect(podSummaryIn(served, 'Terminated.Finished').status).toBe('Running');
  });

  test('what READY counts are its containers and its sidecars', () => {
    expect(countedStatuses(served).map(({ name }) => name)).toEqual(['proxy', 'a']);
    expect(podSummary(served)).toMatchObject({ ready: 2, total: 2 });
  });
});
