import { expect, test } from '@jest/globals';
import { chosenRows, podLink, stateCounts } from '../../../src/page/browser/pod-list.ts';
import { clockTime, duration } from '../../../src/page/browser/page-times.ts';
import { podRow } from '../../support/page-bed.ts';

const ROWS = [
  podRow('web-1', { restarts: 2, sinceMs: 30 }),
  podRow('api', {
    namespace: 'shop',
    state: 'Syncing.BackingOff',
    says: 'waits for the image web',
    sinceMs: 10,
  }),
  podRow('web-2', { state: 'Terminating.Stopping', sinceMs: 20 }),
];
const ALL = { search: '', state: '', column: 'name', isDescending: false } as const;
const names = (choice: Partial<Parameters<typeof chosenRows>[1]>) =>
  chosenRows(ROWS, { ...ALL, ...choice }).map(({ name }) => name);

test('a search finds pods by all that their rows say, and needs all of its words', () => {
  expect(names({ search: 'WEB' })).toEqual(['web-1', 'web-2', 'api']);
  expect(names({ search: 'image shop/' })).toEqual(['api']);
  expect(names({ search: 'web nothing' })).toEqual([]);
});

test('a state, and an order either way', () => {
  expect(names({ state: 'Terminating.Stopping' })).toEqual(['web-2']);
  expect(names({ column: 'since' })).toEqual(['api', 'web-2', 'web-1']);
  expect(names({ column: 'restarts', isDescending: true })).toEqual(['web-1', 'web-2', 'api']);
  expect(names({ column: 'state' })).toEqual(['api', 'web-1', 'web-2']);
});

test('counts the states, the most first', () => {
  expect(stateCounts([...ROWS, podRow('x')])[0]).toEqual(['Syncing.Settled', 2]);
});

test('a link holds any name, and times are short', () => {
  expect(podLink({ namespace: 'a/b', name: 'c?' })).toBe('#/pod/a%2Fb/c%3F');
  expect([5_400, 6_000_000, 90_000_000, 864_000_000].map(duration)).toEqual(['5s', '1h', '25h', '10d']);
  expect(clockTime(new Date(2026, 1, 2, 3, 4, 5).getTime())).toBe('03:04:05');
});
