import { expect, test } from '@jest/globals';
import type { PodSnapshot } from '../../../src/agent/actors/pods/pod-registry.ts';
import { RemainsJudge } from '../../../src/simulation/judges/remains-judge.ts';

function bed() {
  const truth = {
    disk: ['uid-gone'],
    wanted: new Set<string>(),
    inRuntime: new Set<string>(),
    desired: new Set<string>(),
    isAtWork: true,
    isAsking: false,
    hasStarted: true,
    snapshot: undefined as PodSnapshot | undefined,
  };
  const violations: string[] = [];
  const judge = new RemainsJudge(
    {
      onDisk: () => truth.disk,
      isWanted: (uid) => truth.wanted.has(uid),
      isInRuntime: (uid) => truth.inRuntime.has(uid),
      isAskedAbout: () => truth.isAsking,
      isAtWork: () => truth.isAtWork,
      snapshot: () => truth.snapshot,
      hasStarted: () => truth.hasStarted,
      isDesired: (uid) => truth.desired.has(uid),
    },
    (uid, what) => violations.push(`${uid}: ${what}`),
  );
  const housekeepings = (count: number) => {
    for (let done = 0; done < count; done++) judge.housekeeping();
  };
  return { truth, violations, judge, housekeepings };
}

const STAYS = 'uid-gone: nobody knows the pod, and its folder stays';
const snapshotIn = (outer: string, inner: string | object, restartRequested = false): PodSnapshot =>
  ({ value: { [outer]: inner }, context: { restartRequested } }) as never;

test('an orphan that the agent does not remove stays for five housekeepings at most', () => {
  const { violations, housekeepings } = bed();
  housekeepings(5);
  expect(violations).toEqual([]);
  housekeepings(1);
  expect(violations).toEqual([STAYS]);
});

test('an agent that has begun a removal has the time for another try', () => {
  const { violations, judge, housekeepings } = bed();
  judge.asked('uid-gone');
  housekeepings(35);
  expect(violations).toEqual([]);
  housekeepings(1);
  expect(violations).toEqual([STAYS]);
});

test('a runtime that does not answer is waited for', () => {
  const { truth, violations, housekeepings } = bed();
  truth.isAsking = true;
  housekeepings(100);
  truth.isAsking = false;
  housekeepings(35);
  expect(violations).toEqual([]);
});

test('while no agent is at work, nothing can be removed', () => {
  const { truth, violations, judge, housekeepings } = bed();
  judge.asked('uid-gone');
  truth.isAtWork = false;
  housekeepings(100);
  truth.isAtWork = true;
  housekeepings(35);
  expect(violations).toEqual([]);
});

test.each([
  ['that a source wants', ({ truth }: ReturnType<typeof bed>) => truth.wanted.add('uid-gone')],
  ['that the runtime has', ({ truth }: ReturnType<typeof bed>) => truth.inRuntime.add('uid-gone')],
  ['that the agent wants', ({ truth }: ReturnType<typeof bed>) => truth.desired.add('uid-gone')],
  [
    'that has an actor',
    ({ truth }: ReturnType<typeof bed>) => (truth.snapshot = snapshotIn('Terminating', 'Stopping')),
  ],
  ['that is gone', ({ truth }: ReturnType<typeof bed>) => (truth.disk = [])],
])('a pod %s is no orphan', (_what, change) => {
  const court = bed();
  court.housekeepings(5);
  change(court);
  court.housekeepings(100);
  expect(court.violations).toEqual([]);
});

test.each([
  ['Syncing', 'Settled'],
  ['Terminating', 'Stopping'],
  ['Terminated', 'CleaningUp'],
])('the folder of a pod in %s.%s must not be removed', (outer, inner) => {
  const { truth, violations, judge } = bed();
  truth.snapshot = snapshotIn(outer, inner);
  judge.removes('uid-gone');
  expect(violations).toEqual([`uid-gone: its folder is removed in ${outer}.${inner}`]);
});

test('the folder of a finished pod stays as long as the pod is wanted, and goes when it starts anew', () => {
  const { truth, violations, judge } = bed();
  truth.snapshot = snapshotIn('Terminated', 'Finished');
  judge.removes('uid-gone');
  truth.desired.add('uid-gone');
  truth.snapshot = snapshotIn('Terminated', 'Finished', true);
  judge.removes('uid-gone');
  expect(violations).toEqual([]);
  truth.snapshot = snapshotIn('Terminated', 'Finished');
  judge.removes('uid-gone');
  expect(violations).toEqual(['uid-gone: its folder is removed in Terminated.Finished']);
});

test.each([
  ['Terminating', 'Stopping'],
  ['Terminated', 'CleaningUp'],
])(
  'a removal goes on while a pod that came again meanwhile, and has not started, is %s.%s',
  (outer, inner) => {
    const { truth, violations, judge } = bed();
    truth.hasStarted = false;
    truth.wanted.add('uid-gone');
    truth.snapshot = snapshotIn(outer, inner);
    judge.removes('uid-gone');
    expect(violations).toEqual([]);
    truth.inRuntime.add('uid-gone');
    judge.removes('uid-gone');
    expect(violations).toEqual([`uid-gone: its folder is removed in ${outer}.${inner}`]);
  },
);

test('the folder of an earlier pod of a UID goes before the pod starts, and that of an unknown pod at any time', () => {
  const { truth, violations, judge } = bed();
  judge.removes('uid-gone');
  truth.snapshot = snapshotIn('Syncing', { Starting: 'AwaitingRemoval' });
  judge.removes('uid-gone');
  expect(violations).toEqual([]);
});
