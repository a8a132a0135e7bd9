import { expect, test } from '@jest/globals';
import { healthAt } from '../../../src/page/browser/health-view.ts';
import { ALL_PODS, podLink, seenPods, stateCounts } from '../../../src/page/browser/pod-list.ts';
import { clockTime, duration } from '../../../src/page/browser/page-times.ts';
import { podRow } from '../../support/page-bed.ts';

const ROWS = [
  podRow('web-1', { restarts: 2, sinceMs: 30 }),
  podRow('api', {
    namespace: 'shop',
    status: 'ImagePullBackOff',
    health: { kind: 'attention', sinceMs: 20 },
    state: 'Syncing.BackingOff',
    says: 'waits for the image web',
  }),
  podRow('job', { status: 'Error', health: { kind: 'failed', sinceMs: 5 } }),
  podRow('old', { health: { kind: 'attention', sinceMs: 10 } }),
  podRow('web-2', { state: 'Terminating.Stopping', health: { kind: 'ending', sinceMs: 15 } }),
  podRow('done', { status: 'Completed', health: { kind: 'done', sinceMs: 1 } }),
  podRow('new', {
    health: { kind: 'starting', sinceMs: 40, untilMs: 100 },
    later: { kind: 'attention', sinceMs: 40, because: 'is not ready' },
  }),
];
const seen = (choice: Partial<typeof ALL_PODS>, nowMs = 50) =>
  seenPods(ROWS, { ...ALL_PODS, ...choice }, nowMs);
const names = (choice: Partial<typeof ALL_PODS>, nowMs?: number) =>
  seen(choice, nowMs).chosen.map(({ row }) => row.name);

test('pods that need attention come first, those in trouble for longest before the others', () => {
  expect(names({})).toEqual(['old', 'api', 'job', 'new', 'web-2', 'web-1', 'done']);
});

test('a list for each need, with the counts of all; what has failed needs attention too', () => {
  expect(names({ show: 'attention' })).toEqual(['old', 'api', 'job']);
  expect(names({ show: 'ending' })).toEqual(['web-2']);
  expect(seen({ show: 'ending', search: 'nothing' }).counts).toEqual({
    all: 7,
    attention: 3,
    starting: 1,
    ending: 1,
  });
});

test('a pod comes to need attention by time alone', () => {
  expect(seen({}).untilMs).toBe(100);
  expect(names({ show: 'attention' }, 100)).toEqual(['old', 'api', 'new', 'job']);
  expect(healthAt(ROWS[6]!, 100).because).toBe('is not ready');
  expect(seen({}, 100).untilMs).toBe(Infinity);
});

test('a search finds pods by all that their rows say, and needs all of its words', () => {
  expect(names({ search: 'WEB', column: 'name' })).toEqual(['web-1', 'web-2', 'api']);
  expect(names({ search: 'image shop/' })).toEqual(['api']);
  expect(names({ search: 'imagepullbackoff' })).toEqual(['api']);
  expect(names({ search: 'web nothing' })).toEqual([]);
});

test('another order either way', () => {
  expect(names({ column: 'since' })).toEqual(['done', 'job', 'old', 'web-2', 'api', 'web-1', 'new']);
  expect(names({ column: 'restarts', isDescending: true })[0]).toBe('web-1');
  expect(names({ column: 'state' })[0]).toBe('api');
});

test('counts the states', () => {
  expect(stateCounts(ROWS).get('Syncing.Settled')).toBe(5);
});

test('a link holds any name, and times are short', () => {
  expect(podLink({ namespace: 'a/b', name: 'c?' })).toBe('#/pod/a%2Fb/c%3F');
  expect([5_400, 6_000_000, 90_000_000, 864_000_000].map(duration)).toEqual(['5s', '1h', '25h', '10d']);
  expect(clockTime(new Date(2026, 1, 2, 3, 4, 5).getTime())).toBe('03:04:05');
});
