import { describe, expect, test } from '@jest/globals';
import type { PodView } from '../../../src/types/page-views.ts';
import type { Transition } from '../../../src/types/transition.ts';
import { together, windowOf } from '../../../src/page/browser/axis-view.ts';
import { withRuns } from '../../../src/page/browser/container-lanes.ts';
import { actorLanes } from '../../../src/page/browser/lanes.ts';
import { podLanes } from '../../../src/page/browser/pod-lanes.ts';
import { podRow } from '../../support/page-bed.ts';
import { testPod } from '../../support/pods.ts';

const AT = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(AT + seconds * 1_000).toISOString();
const base = { restartCount: 0, ready: false, image: '', imageID: '' };

function view(containerStatuses: readonly object[], more: Partial<PodView> = {}): PodView {
  const pod = testPod({ name: 'web' });
  const spec = { ...pod.spec, containers: [{ name: 'main', image: 'x' }] };
  const status = { startTime: at(0), containerStatuses } as unknown as NonNullable<PodView['status']>;
  return { row: podRow('web'), sentences: [], pod: { ...pod, spec }, status, events: [], ...more };
}

function step(seconds: number, more: Partial<Transition>): Transition {
  const own = { chart: 'pod', actor: 'web_default uid-web', event: 'E', from: 'A', to: 'B', actions: [] };
  return { atMs: AT + seconds * 1_000, ...own, ...more };
}

const shown = (facts: Parameters<typeof podLanes>[0]) =>
  podLanes(facts).map(({ name, spans, marks }) => [
    name,
    ...spans.map(({ fromMs, toMs, kind, text }) => {
      const end = toMs === undefined ? '' : (toMs - AT) / 1_000;
      return `${(fromMs - AT) / 1_000}-${end} ${kind}: ${text}`;
    }),
    ...marks.map(({ atMs, text }) => `${(atMs - AT) / 1_000} ${text}`),
  ]);

test('states are spans from one transition to the next, and each transition is a mark with the guard that decided', () => {
  const transitions = [
    step(1, { from: 'Syncing.Starting.Admitting', to: 'Syncing.Working' }),
    step(2, { event: 'PING', from: 'Syncing.Working', to: 'Syncing.Working' }),
    step(5, { event: 'SYNCED', guard: 'done', from: 'Syncing.Working', to: 'Syncing.Settled' }),
  ];
  expect(shown({ last: undefined, transitions: transitions.toReversed(), runs: [] })).toEqual([
    ['state', '1-5 starting: Syncing.Working', '5- calm: Syncing.Settled'],
    [
      'transitions',
      '1 E: Syncing.Starting.Admitting → Syncing.Working',
      '2 PING: Syncing.Working',
      '5 SYNCED [done]: Syncing.Working → Syncing.Settled',
    ],
  ]);
});

test.each(['failed', 'done'] as const)('the end of a pod that is %s has that colour', (health) => {
  const transitions = [
    step(4, { from: 'Terminated.CleaningUp', to: 'Terminated.Finished' }),
    step(2, { from: 'Terminating.Stopping', to: 'Terminated.CleaningUp' }),
    step(1, { from: 'Syncing.Settled', to: 'Terminating.Stopping' }),
  ];
  expect(shown({ last: undefined, transitions, runs: [], health })[0]).toEqual([
    'state',
    '1-2 ending: Terminating.Stopping',
    `2-4 ${health}: Terminated.CleaningUp`,
    `4- ${health}: Terminated.Finished`,
  ]);
});

test('a short try that fails as the one before does not split the wait for the next one', () => {
  const [working, waiting] = ['Syncing.Working', 'Syncing.BackingOff'];
  const transitions = [
    step(1, { from: working, to: waiting }),
    step(9, { from: waiting, to: working }),
    step(10, { from: working, to: waiting }),
    step(20, { from: waiting, to: working }),
    step(26, { from: working, to: waiting }),
  ];
  const [states] = shown({ last: undefined, transitions: transitions.toReversed(), runs: [] });
  expect(states).toEqual([
    'state',
    `1-20 attention: ${waiting}`,
    `20-26 starting: ${working}`,
    `26- attention: ${waiting}`,
  ]);
});

test('a pod of the same name before is not drawn into the lane of this one', () => {
  const before = step(1, { actor: 'web_default uid-of-another', to: 'Terminated.Finished' });
  const transitions = [step(9, { to: 'Syncing.Working' }), before];
  const [states] = shown({ last: view([]), transitions, runs: [] });
  expect(states).toEqual(['state', '9- starting: Syncing.Working']);
});

test('without a transition the state is drawn from the time when it began', () => {
  const row = podRow('web', { sinceMs: AT + 3_000 });
  const [states] = shown({ last: view([], { row }), transitions: [], runs: [] });
  expect(states).toEqual(['state', '3- calm: Syncing.Settled']);
});

test('a container has its runs and the waits between them, of all statuses that were seen', () => {
  const first = { terminated: { startedAt: at(1), finishedAt: at(2), exitCode: 3, reason: 'Error' } };
  const second = { terminated: { startedAt: at(4), finishedAt: at(5), exitCode: 0, reason: 'Completed' } };
  const waiting = { waiting: { reason: 'CrashLoopBackOff' } };
  const seen = [
    view([{ ...base, name: 'main', state: waiting, lastState: first }]),
    view([{ ...base, name: 'main', state: { running: { startedAt: at(4) } }, lastState: first }]),
    view([{ ...base, name: 'main', state: waiting, lastState: second }]),
  ];
  const runs = seen.reduce<ReturnType<typeof withRuns>>(withRuns, []);
  expect(shown({ last: seen.at(-1), transitions: [], runs })).toEqual([
    [
      'container main',
      '0-1 wait: waits',
      '1-2 failed: ran, exit code 3 (Error)',
      '2-4 wait: waits',
      '4-5 done: ran, exit code 0 (Completed)',
      '5- wait: waits: CrashLoopBackOff',
    ],
  ]);
});

test('the time before the first run that is known is no wait where the container had been restarted before', () => {
  const pod = view([{ ...base, name: 'main', restartCount: 2, state: { running: { startedAt: at(9) } } }]);
  expect(shown({ last: pod, transitions: [], runs: withRuns([], pod) })).toEqual([
    ['container main', '9- starting: runs, not ready'],
  ]);
});

test('a container that has ended for good says so until now', () => {
  const terminated = { startedAt: at(1), finishedAt: at(2), exitCode: 0, reason: 'Completed' };
  const pod = view([{ ...base, name: 'main', state: { terminated } }]);
  const [lane] = shown({ last: pod, transitions: [], runs: withRuns([], pod) });
  expect(lane?.at(-1)).toBe('2- done: ended with exit code 0');
});

const probe = { chart: 'probe', actor: 'web_default main readiness uid-web', event: 'PROBED' };
const changed = { ...probe, guard: 'changesResult', from: 'Probing', to: 'Waiting' };
const readiness = (isReady: boolean, ...ordered: readonly Transition[]) => {
  const last = view([{ ...base, name: 'main', ready: isReady, state: {} }]);
  return shown({ last, transitions: ordered.toReversed(), runs: [] })[0];
};

test('a probe has a span for each result; without what was before, the last one is that of the status', () => {
  expect(readiness(true, step(1, changed), step(4, changed), step(6, changed), step(7, probe))).toEqual([
    'readiness main',
    '1-4 ok: ready',
    '4-6 failed: not ready',
    '6- ok: ready',
  ]);
  expect(readiness(false, step(4, changed))).toEqual(['readiness main', '4- failed: not ready']);
});

test('what the record says of an outcome counts', () => {
  const failed = step(3, { ...changed, data: { outcome: 'Failure' } });
  expect(readiness(false, failed)).toEqual(['readiness main', '3- failed: not ready']);
});

test('a result ends with its container, whatever the status says then', () => {
  const gone = step(5, { ...probe, event: 'STATUS', from: 'Waiting', to: 'Idle' });
  expect(readiness(false, step(1, changed), gone)).toEqual(['readiness main', '1-5 ok: ready']);
  const again = step(9, changed);
  expect(readiness(true, step(1, changed), gone, again)?.at(-1)).toBe('9- ok: ready');
});

test('an event that happened several times has a mark for the first time and the last', () => {
  const event = { type: 'Warning', reason: 'BackOff', message: 'm', count: 3, metadata: {} };
  const events = [{ ...event, firstTimestamp: at(1), lastTimestamp: at(8) }] as unknown as PodView['events'];
  expect(shown({ last: view([], { events }), transitions: [], runs: [] })).toEqual([
    ['events', '1 BackOff: m (the first of 3 times)', '8 BackOff: m'],
  ]);
});

test('marks that are close to each other are one, which says all of them; no more of the past is shown than is known', () => {
  const marks = [0, 1, 2, 50].map((atMs) => ({
    atMs,
    kind: atMs === 2 ? 'attention' : '',
    text: `at ${atMs}`,
  }));
  expect(together(marks, 10)).toEqual([
    { atMs: 0, kind: 'attention', text: 'at 0\nat 1\nat 2' },
    { atMs: 50, kind: '', text: 'at 50' },
  ]);
  const lane = { name: 'x', spans: [], marks: [{ atMs: AT, kind: '', text: '' }] };
  const shownMs = (zoom: Parameters<typeof windowOf>[1], nowMs: number) =>
    nowMs - windowOf([lane], zoom, nowMs).fromMs;
  expect(shownMs('all', AT + 7_200_000)).toBe(7_200_000);
  expect(shownMs('1h', AT + 7_200_000)).toBe(3_600_000);
  expect(shownMs('10m', AT + 90_000)).toBe(90_000);
  expect(shownMs('1m', AT + 1_000)).toBe(10_000);
});

test('looks of an actor at rest that find nothing do not split its span; work does', () => {
  const settled = 'Syncing.Settled';
  const transitions = [
    step(0, { from: 'Syncing.Working', to: settled }),
    step(60, { from: settled, to: 'Syncing.Working' }),
    step(61, { from: 'Syncing.Working', to: settled }),
    step(120, { from: settled, to: 'Syncing.Working' }),
    step(140, { from: 'Syncing.Working', to: settled }),
  ];
  const [states, marks] = shown({ last: undefined, transitions: transitions.toReversed(), runs: [] });
  expect(states).toEqual([
    'state',
    '0-120 calm: Syncing.Settled',
    '120-140 starting: Syncing.Working',
    '140- calm: Syncing.Settled',
  ]);
  expect(marks).toHaveLength(6);
});

test('the regions of a parallel state have a lane each, and a transition names those that it changes', () => {
  const transitions = [
    step(0, { from: 'Pass.B,Pressure.Memory.Absent', to: 'Pass.A,Pressure.Memory.Absent' }),
    step(20, { from: 'Pass.A,Pressure.Memory.Absent', to: 'Pass.A,Pressure.Memory.Present' }),
  ];
  const lanes = actorLanes(transitions, () => 'calm');
  expect(lanes.map(({ name, spans }) => [name, ...spans.map(({ text }) => text)])).toEqual([
    ['Pass', 'Pass.A'],
    ['Pressure', 'Pressure.Memory.Absent', 'Pressure.Memory.Present'],
    ['transitions'],
  ]);
  expect(lanes[2]?.marks[1]?.text).toBe('E: Pressure.Memory.Absent → Pressure.Memory.Present');
});

test('a resize is drawn as long as it waits, is carried out or fails', () => {
  const states = [
    'Request.Judging,Actuation.Actuated',
    'Request.Deferred,Actuation.Actuated',
    'Request.Granted,Actuation.InProgress',
    'Request.Granted,Actuation.Failing',
    'Request.Granted,Actuation.Actuated',
  ];
  const transitions = states.map((to, index) =>
    step(index, { chart: 'resize', actor: 'resize web_default uid-web', from: states[index - 1] ?? '', to }),
  );
  const lanes = shown({ last: view([]), transitions: transitions.toReversed(), runs: [] });
  expect(lanes.find(([name]) => name === 'resize')).toEqual([
    'resize',
    '0-1 wait: Request.Judging',
    '1-2 wait: Request.Deferred',
    '2-3 starting: Actuation.InProgress',
    '3-4 attention: Actuation.Failing',
  ]);
});

describe('a probe that has never succeeded', () => {
  const runs = (more: object, status: object, events: readonly object[] = []) => {
    const container = { name: 'main', image: 'x', ...more };
    const pod = view([{ ...base, name: 'main', state: { running: { startedAt: at(1) } }, ...status }], {
      events: events as PodView['events'],
    });
    const last = { ...pod, pod: { ...pod.pod, spec: { ...pod.pod.spec, containers: [container] } } };
    return shown({ last, transitions: [], runs: withRuns([], last) }).slice(1);
  };
  const failed = (kind: string, seconds: number) => ({
    reason: 'Unhealthy',
    message: `${kind} probe failed: 503`,
    involvedObject: { fieldPath: 'spec.containers{main}' },
    firstTimestamp: at(seconds),
    lastTimestamp: at(9),
    metadata: {},
  });

  test('has a lane that is red from its first failure on', () => {
    const lanes = runs({ readinessProbe: {} }, { started: true }, [failed('Readiness', 4)]);
    expect(lanes[0]).toEqual(['readiness main', '1-4 starting: not ready yet', '4- failed: not ready']);
    expect(runs({ readinessProbe: {} }, { started: true })[0]).toEqual([
      'readiness main',
      '1- starting: not ready yet',
    ]);
  });

  test('of a container that has not started is its startup probe alone', () => {
    const lanes = runs({ readinessProbe: {}, startupProbe: {} }, { started: false }, [failed('Startup', 1)]);
    expect(lanes[0]).toEqual(['startup main', '1- failed: not started']);
    expect(lanes.some(([name]) => name === 'readiness main')).toBe(false);
  });

  test('is none where it succeeds', () => {
    expect(runs({ readinessProbe: {} }, { ready: true, started: true })).toEqual([]);
  });
});
