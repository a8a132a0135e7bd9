/** The vectors cover whole sequences of events; these tests cover the limits. */
import { expect, test } from '@jest/globals';
import {
  counted,
  EventCorrelator,
  type EventFacts,
  eventKey,
  eventName,
  similarKey,
  spamKey,
  spent,
  withSimilar,
} from '../../../../src/agent/policies/cluster/event-correlation.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('eventCorrelation');

const EVENT: EventFacts = {
  source: { component: 'kubelet', host: 'node-1' },
  object: { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u-1' },
  type: 'Warning',
  reason: 'BackOff',
  message: 'Back-off',
};
const inContainer = { ...EVENT, object: { ...EVENT.object, fieldPath: 'spec.containers{main}' } };

test('events are equal by message and container, and similar by reason; spam is counted by object and type', () => {
  const keysOf = (event: EventFacts) => [eventKey(event), similarKey(event), spamKey(event)];
  const same = (event: EventFacts) => keysOf(event).map((key, i) => key === keysOf(EVENT)[i]);
  expect(same({ ...EVENT })).toEqual([true, true, true]);
  expect(same(inContainer)).toEqual([false, true, true]);
  expect(same({ ...EVENT, message: 'other' })).toEqual([false, true, true]);
  expect(same({ ...EVENT, reason: 'Failed' })).toEqual([false, false, true]);
  expect(same({ ...EVENT, type: 'Normal' })).toEqual([false, false, false]);
  expect(same({ ...EVENT, object: { ...EVENT.object, uid: 'u-2' } })).toEqual([false, false, false]);
});

test('the tenth different message is combined, and so is every later one, if each comes within ten minutes', () => {
  const tell = (everyMs: number, count: number) => {
    let similar: Parameters<typeof withSimilar>[0];
    return Array.from({ length: count }, (_, i) => {
      const next = withSimilar(similar, `message ${i}`, i * everyMs);
      ({ similar } = next);
      return next.combined;
    });
  };
  expect(tell(600_000, 12)).toEqual([...Array<boolean>(9).fill(false), true, true, true]);
  expect(tell(600_001, 12)).not.toContain(true);
});

test('fewer than ten messages of similar events are kept', () => {
  const messages = Array.from({ length: 9 }, (_, i) => `message ${i}`);
  const { similar } = withSimilar({ messages, lastAt: 0 }, 'another', 1);
  expect(similar).toEqual({ messages: [...messages.slice(1), 'another'], lastAt: 1 });
  expect(withSimilar({ messages, lastAt: 0 }, 'message 3', 1)).toMatchObject({ combined: false });
});

test('equal events are counted, and keep the name of the first', () => {
  const first = counted(undefined, 'web.1', 1);
  expect(counted(first, 'web.2', 2)).toEqual({ count: 2, firstAt: 1, name: 'web.1' });
});

test('25 events at once, then one in five minutes; refused events do not count', () => {
  let budget = spent(undefined, 0);
  for (let i = 1; i < 25; i += 1) budget = spent(budget, 0);
  expect(spent(budget, 0)).toBeUndefined();
  expect(spent(budget, 299_000)).toBeUndefined();
  const next = spent(budget, 300_000);
  expect(next).toBeDefined();
  expect(spent(next, 300_000)).toBeUndefined();
  // More than 25 are never saved up.
  expect(spent(budget, 1e12)?.tokens).toBe(24);
});

test('a clock that is set back does not change the budget', () => {
  expect(spent({ tokens: 1, at: 1_000 }, 0)).toEqual({ tokens: 0, at: 0 });
});

test('the name of an event is that of its object with the time in nanoseconds', () => {
  const otherwise = () => 'uuid';
  expect(eventName('my-pod', 1_893_456_000_000_000_000n, otherwise)).toBe('my-pod.1a46e83335d50000');
  // 236 + 1 + 16 characters are as many as a name may have.
  expect(eventName('a'.repeat(236), 1_893_456_000_000_000_000n, otherwise)).toHaveLength(253);
  expect(eventName('a'.repeat(237), 1_893_456_000_000_000_000n, otherwise)).toBe('uuid');
});

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
