import { expect, test } from '@jest/globals';
import { EventCorrelator } from '../../../src/policies/events/event-correlator.ts';
import { eventReport, inPlaceOf } from '../../../src/policies/events/event-report.ts';

const AT = Date.UTC(2030, 0, 1);
const POD = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u-1' };
const correlator = () => {
  const events = new EventCorrelator();
  return (afterMs: number, message = 'Back-off') => {
    const source = { component: 'kubelet', host: 'node-1' };
    const facts = { source, object: POD, type: 'Warning', reason: 'BackOff', message } as const;
    return eventReport(facts, events.correlate(facts, AT + afterMs, `web.${afterMs}`), AT + afterMs);
  };
};

test('a new event is created with source, reporting fields and whole seconds', () => {
  expect(correlator()(1_500)).toEqual({
    key: expect.any(String),
    isUpdate: false,
    event: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'web.1500', namespace: 'shop' },
      involvedObject: POD,
      reason: 'BackOff',
      message: 'Back-off',
      type: 'Warning',
      count: 1,
      firstTimestamp: '2030-01-01T00:00:01Z',
      lastTimestamp: '2030-01-01T00:00:01Z',
      source: { component: 'kubelet', host: 'node-1' },
      reportingComponent: 'kubelet',
      reportingInstance: 'node-1',
    },
    patch: { count: 1, lastTimestamp: '2030-01-01T00:00:01Z', message: 'Back-off' },
  });
});

test('an event that happens again updates the first one, which keeps its name', () => {
  const report = correlator();
  report(0);
  const again = report(60_000);
  expect(again).toMatchObject({ isUpdate: true, patch: { count: 2, lastTimestamp: '2030-01-01T00:01:00Z' } });
  expect(again.event).toMatchObject({
    metadata: { name: 'web.0' },
    firstTimestamp: '2030-01-01T00:00:00Z',
    count: 2,
  });
});

test('a combined event does not say who reported it', () => {
  const report = correlator();
  const last = Array.from({ length: 10 }, (_, i) => report(i, `message ${i}`)).at(-1);
  expect(last?.event.message).toBe('(combined from similar events): message 9');
  expect(last?.event).not.toHaveProperty('reportingComponent');
});

test('a report that takes the place of an unsent creation is a creation, with the newer count', () => {
  const report = correlator();
  const [first, second, third] = [report(0), report(1_000), report(2_000)];
  expect(inPlaceOf(first, second)).toEqual({ ...second, isUpdate: false });
  expect(inPlaceOf(second, third)).toEqual(third);
});
