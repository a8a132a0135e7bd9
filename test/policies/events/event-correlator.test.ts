/** The counts and names are held to client-go by test/vectors/eventCorrelation.json. */
import { expect, test } from '@jest/globals';
import { EventCorrelator } from '../../../src/policies/events/event-correlator.ts';

const SOURCE = { component: 'statelet', host: '' };

function warning(reason: string, message: string, uid = 'uid-1') {
  const object = { kind: 'Pod', namespace: 'default', name: 'web', uid };
  return { source: SOURCE, object, type: 'Warning' as const, reason, message };
}

test('an event that is repeated is counted under one key; another message or pod has its own', () => {
  const correlator = new EventCorrelator();
  const [first, second] = [0, 1_000].map((now) => correlator.correlate(warning('BackOff', 'again'), now));
  expect([first?.count, second?.count]).toEqual([1, 2]);
  expect(second?.key).toBe(first?.key);
  const others = [warning('BackOff', 'once more'), warning('BackOff', 'again', 'uid-2')];
  for (const other of others)
    expect(correlator.correlate(other, 2_000)).toMatchObject({ count: 1, combined: false, isSpam: false });
});

test('from the tenth on, events that differ only in their message are combined into one', () => {
  const correlator = new EventCorrelator();
  const events = Array.from({ length: 12 }, (_, index) =>
    correlator.correlate(warning('Unhealthy', `refused after ${index} ms`), index * 1_000),
  );
  expect(events.map(({ combined }) => combined).indexOf(true)).toBe(9);
  expect(events.slice(9).map(({ count }) => count)).toEqual([1, 2, 3]);
  expect(events[9]?.message).toBe('(combined from similar events): refused after 9 ms');
  expect(new Set(events.slice(9).map(({ key }) => key)).size).toBe(1);
});

test('a pod has a budget of 25 events, and gets one more every five minutes; other pods have their own', () => {
  const correlator = new EventCorrelator();
  const isSpam = (index: number, now: number, uid?: string) =>
    correlator.correlate(warning(`Reason${index}`, 'again', uid), now).isSpam;
  const first = Array.from({ length: 26 }, (_, index) => isSpam(index, 0));
  expect(first.indexOf(true)).toBe(25);
  expect(isSpam(1, 0, 'uid-2')).toBe(false);
  expect([isSpam(30, 5 * 60_000), isSpam(31, 5 * 60_000)]).toEqual([false, true]);
});
