import { describe, expect, test } from '@jest/globals';
import {
  isReportDue,
  lookDelayMs,
  NO_REPORT,
  nodeHasChanged,
  nodeStatusHasChanged,
  sentReport,
} from '../../../../src/agent/policies/node/status-report.ts';
import type { Node, NodeCondition, NodeStatus } from '../../../../src/types/kubernetes.ts';

const FREQUENCY_MS = 300_000;
const READY: NodeCondition = { type: 'Ready', status: 'True', lastHeartbeatTime: '2030-01-01T00:00:00Z' };
const DISK: NodeCondition = {
  type: 'DiskPressure',
  status: 'False',
  lastHeartbeatTime: '2030-01-01T00:00:00Z',
};

test('the status is looked at once in a period, and up to 4 % later', () => {
  expect([lookDelayMs(10_000, 0), lookDelayMs(10_000, 0.5)]).toEqual([10_000, 10_200]);
});

describe('a report without a change', () => {
  test('is due if there was none', () => {
    expect(isReportDue(NO_REPORT, FREQUENCY_MS, 0)).toBe(true);
  });

  test('is due after the period, moved by the delay', () => {
    const at = (delayMs: number, now: number) => isReportDue({ sentAt: 0, delayMs }, FREQUENCY_MS, now);
    expect([at(0, 299_999), at(0, 300_000)]).toEqual([false, true]);
    expect([at(-100_000, 199_999), at(-100_000, 200_000)]).toEqual([false, true]);
    expect([at(100_000, 399_999), at(100_000, 400_000)]).toEqual([false, true]);
  });

  test('is due if the clock was set back', () => {
    expect(isReportDue({ sentAt: 3_600_000, delayMs: 0 }, FREQUENCY_MS, 0)).toBe(true);
  });

  test('is moved by up to half the period after a change and after the first report, else not at all', () => {
    const former = { sentAt: 1, delayMs: 7 };
    expect(sentReport(NO_REPORT, false, FREQUENCY_MS, 0, 5)).toEqual({ sentAt: 5, delayMs: -150_000 });
    expect(sentReport(former, true, FREQUENCY_MS, 0.75, 5)).toEqual({ sentAt: 5, delayMs: 75_000 });
    expect(sentReport(former, false, FREQUENCY_MS, 0.75, 5)).toEqual({ sentAt: 5, delayMs: 0 });
  });
});

describe('a status has', () => {
  test('not changed by heartbeats, by the order of its conditions, and by what is empty', () => {
    const later = { ...READY, lastHeartbeatTime: '2030-01-01T00:00:10Z' };
    const before = { conditions: [READY, DISK], images: [], capacity: { cpu: '1000m' } };
    const after = { conditions: [DISK, later], volumesInUse: [], capacity: { cpu: '1' } };
    expect(nodeStatusHasChanged(before, after)).toBe(false);
  });

  test.each<[string, NodeStatus]>([
    ['condition', { conditions: [{ ...READY, status: 'False' }] }],
    ['transition time', { conditions: [{ ...READY, lastTransitionTime: '2030-01-01T00:00:10Z' }] }],
    ['amount', { conditions: [READY], capacity: { cpu: '3' } }],
    ['resource', { conditions: [READY], capacity: { cpu: '2', memory: '1Gi' } }],
    ['list', { conditions: [READY], volumesInUse: ['a'] }],
  ])('changed by another %s', (_, after) => {
    const before = { conditions: [READY], ...(after.capacity && { capacity: { cpu: '2' } }) };
    expect(nodeStatusHasChanged(before, after)).toBe(true);
  });
});

test('a node has changed by labels and annotations too', () => {
  const node: Node = { metadata: { name: 'node-1', labels: { a: 'b' } } };
  expect(nodeHasChanged(node, { metadata: { ...node.metadata, annotations: {} } })).toBe(false);
  expect(nodeHasChanged(node, { metadata: { name: 'node-1', labels: { a: 'c' } } })).toBe(true);
  expect(nodeHasChanged(node, { metadata: { ...node.metadata, annotations: { a: 'b' } } })).toBe(true);
});
