import { describe, expect, test } from '@jest/globals';
import {
  activeDeadline,
  hasExceededDeadline,
  isPastDeadline,
} from '../../../src/policies/sync/active-deadline.ts';
import type { PodStatus } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

const STARTED: PodStatus = { startTime: '2026-01-02T03:04:05Z' };
const STARTED_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

function withDeadline(activeDeadlineSeconds: number | undefined) {
  const pod = testPod();
  return { ...pod, spec: { ...pod.spec, ...(activeDeadlineSeconds != null && { activeDeadlineSeconds }) } };
}

test.each([0, 1, 86_400])('the deadline is %d seconds after the start of the pod', (seconds) => {
  expect(activeDeadline(withDeadline(seconds), STARTED)).toBe(STARTED_MS + seconds * 1000);
});

test('a pod without activeDeadlineSeconds has no deadline', () => {
  expect(activeDeadline(withDeadline(undefined), STARTED)).toBeUndefined();
});

test('a pod that has not started has no deadline', () => {
  expect(activeDeadline(withDeadline(5), undefined)).toBeUndefined();
  expect(activeDeadline(withDeadline(5), {})).toBeUndefined();
});

test('the deadline has passed at exactly its time', () => {
  const passed = (ms: number) => isPastDeadline(withDeadline(5), STARTED, STARTED_MS + ms);
  expect([4_999, 5_000, 5_001].map(passed)).toEqual([false, true, true]);
  expect(isPastDeadline(withDeadline(undefined), STARTED, Infinity)).toBe(false);
});

describe('once it has passed', () => {
  const endedAfter = (...seconds: number[]) =>
    runtimePodStatus({
      containers: seconds.map((after, i) => ({
        id: `c-${i}`,
        name: `c-${i}`,
        state: 'exited' as const,
        finishedAt: STARTED_MS / 1000 + after,
      })),
    });

  test('a pod that has not ended has exceeded it', () => {
    for (const phase of ['Pending', 'Running'])
      expect(hasExceededDeadline(withDeadline(5), { ...STARTED, phase }, endedAfter(1))).toBe(true);
  });

  test.each(['Succeeded', 'Failed'])(
    'a pod of phase %s has not exceeded it if its last container ended before',
    (phase) => {
      const exceeded = (...seconds: number[]) =>
        hasExceededDeadline(withDeadline(5), { ...STARTED, phase }, endedAfter(...seconds));
      expect(exceeded(1, 4)).toBe(false);
      expect(exceeded(1, 5)).toBe(true);
      expect(exceeded()).toBe(false);
    },
  );
});
