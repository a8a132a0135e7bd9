import { expect, test } from '@jest/globals';
import { EventCorrelator } from '../../../../src/agent/policies/cluster/event-correlation.ts';
import {
  EventNames,
  eventReport,
  inPlaceOf,
  nodeEventObject,
  podEventObject,
} from '../../../../src/agent/policies/cluster/event-object.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';

const POD = { name: 'web', namespace: 'shop', uid: 'u-1' };
const KNOWN: Pod = {
  metadata: { ...POD, resourceVersion: '42' },
  spec: {
    containers: [{ name: 'app' }],
    initContainers: [{ name: 'setup' }],
    ephemeralContainers: [{ name: 'debugger' }],
  },
};

test('an event about a pod has its UID, and no field path', () => {
  const object = { apiVersion: 'v1', kind: 'Pod', ...POD };
  expect(podEventObject({ ...POD, labels: {} } as typeof POD)).toEqual(object);
});

test('if the pod is known, the event has its version', () => {
  expect(podEventObject(POD, undefined, KNOWN)).toMatchObject({ uid: 'u-1', resourceVersion: '42' });
});

test.each([
  ['app', 'spec.containers{app}'],
  ['setup', 'spec.initContainers{setup}'],
  ['debugger', 'spec.ephemeralContainers{debugger}'],
  ['unknown', 'spec.containers{unknown}'],
])('an event about container %s has the field path %s', (container, fieldPath) => {
  expect(podEventObject(POD, container, KNOWN)).toMatchObject({ fieldPath });
});

test('if the spec of the pod is not known any more, a container counts as a regular one', () => {
  expect(podEventObject(POD, 'setup')).toMatchObject({ fieldPath: 'spec.containers{setup}' });
});

test('an event about the node has its UID, and its name as long as the UID is not known', () => {
  expect(nodeEventObject('node-1', 'u-9')).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'node-1',
    uid: 'u-9',
  });
  expect(nodeEventObject('node-1', undefined)).toMatchObject({ uid: 'node-1' });
});

const never = () => 'never';

test('two events of one millisecond, or of a clock that was set back, have different names', () => {
  const names = new EventNames();
  expect([5, 5, 4].map((ms) => names.next('web', ms, never))).toEqual([
    'web.4c4b40',
    'web.4c4b41',
    'web.4c4b42',
  ]);
  expect(names.next('web', 6, never)).toBe('web.5b8d80');
});

test('a name that is too long is replaced', () => {
  const replaced = new EventNames().next('w'.repeat(253), 1, (nanoseconds) => `other.${String(nanoseconds)}`);
  expect(replaced).toBe('other.1000000');
});

const AT = Date.UTC(2030, 0, 1);

const REPORTED_POD = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u-1' };

const correlator = () => {
  const events = new EventCorrelator();
  return (afterMs: number, message = 'Back-off') => {
    const source = { component: 'kubelet', host: 'node-1' };
    const facts = { source, object: REPORTED_POD, type: 'Warning', reason: 'BackOff', message } as const;
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
      involvedObject: REPORTED_POD,
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
