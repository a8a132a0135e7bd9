import { expect, test } from '@jest/globals';
import { type EventChange, RecentEvents } from '../../../src/agent/server/recent-events.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const POD = { name: 'web', namespace: 'default', uid: 'uid-1' };
const WHOLE: Pod = {
  metadata: POD,
  spec: { initContainers: [{ name: 'init' }], containers: [{ name: 'main' }] },
};

function bed(keptMax?: number) {
  const clock = { nowMs: Date.UTC(2026, 0, 1) };
  const events = new RecentEvents({
    nodeName: 'node-1',
    now: () => clock.nowMs,
    podOf: (uid) => (uid === 'uid-1' ? WHOLE : undefined),
    ...(keptMax !== undefined && { keptMax }),
  });
  return { clock, events };
}

test('an event is an object of the Kubernetes API, about the pod and its container', () => {
  const { events } = bed();
  events.event(POD, 'Normal', 'Started', 'Started container init', { container: 'init' });
  expect(events.list()).toEqual([
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: expect.stringMatching(/^web\.[0-9a-f]+$/),
        namespace: 'default',
        creationTimestamp: '2026-01-01T00:00:00Z',
        resourceVersion: '1',
      },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Pod',
        ...POD,
        fieldPath: 'spec.initContainers{init}',
      },
      type: 'Normal',
      reason: 'Started',
      message: 'Started container init',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'kubelet', host: 'node-1' },
      reportingComponent: 'kubelet',
      reportingInstance: 'node-1',
    },
  ]);
});

test('an event that happens again is counted, comes last, and is sent as modified', () => {
  const { events, clock } = bed();
  const told: EventChange[] = [];
  const stop = events.watch((change) => told.push(change));
  events.event(POD, 'Warning', 'BackOff', 'Back-off');
  events.nodeEvent('Normal', 'NodeReady', 'ready');
  clock.nowMs += 5_000;
  events.event(POD, 'Warning', 'BackOff', 'Back-off');
  expect(events.list()).toMatchObject([
    { reason: 'NodeReady', involvedObject: { kind: 'Node', name: 'node-1' } },
    {
      reason: 'BackOff',
      count: 2,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:05Z',
      metadata: { resourceVersion: '3', creationTimestamp: '2026-01-01T00:00:00Z' },
    },
  ]);
  expect(told.map(({ type, event }) => `${type} ${event.reason ?? ''}`)).toEqual([
    'ADDED BackOff',
    'ADDED NodeReady',
    'MODIFIED BackOff',
  ]);
  stop();
  events.nodeEvent('Normal', 'NodeReady', 'ready');
  expect(told).toHaveLength(3);
});

test('only so many are kept: those that have not happened for longest are forgotten', () => {
  const { events } = bed(3);
  for (const name of ['a', 'b', 'c', 'a', 'd'])
    events.event({ name, namespace: 'default', uid: name }, 'Normal', 'Pulled', name);
  expect(events.list().map(({ message }) => message)).toEqual(['c', 'a', 'd']);
  expect(events.version).toBe(5);
  expect(events.list(3).map(({ message }) => message)).toEqual(['a', 'd']);
});
