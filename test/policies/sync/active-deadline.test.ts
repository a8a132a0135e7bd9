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

test.each([0, 1, 86_400])('%d seconds from the start on', (seconds) => {
  expect(activeDeadline(withDeadline(seconds), STARTED)).toBe(STARTED_MS + seconds * 1000);
});

test('there is none where the pod has none', () => {
  expect(activeDeadline(withDeadline(undefined), STARTED)).toBeUndefined();
});

test('there is none before the pod has started', () => {
  expect(activeDeadline(withDeadline(5), undefined)).toBeUndefined();
  expect(activeDeadline(withDeadline(5), {})).toBeUndefined();
});

test('it has passed from its very moment on', () => {
  const passed = (ms: number) => isPastDeadline(withDeadline(5), STARTED, STARTED_MS + ms);
  expect([4_999, 5_000, 5_001].map(passed)).toEqual([false, true, true]);
  expect(isPastDeadline(withDeadline(undefined), STARTED, Infinity)).toBe(false);
});

describe('once it has passed', () => {
  const endedAfter = (...seconds: number[]) =>
    runtimePodStatus({
      containers: seconds.map((after, i) => ({
        ...{ id: `c-${i}`, name: `c-${i}`, state: 'exited' as const },
        finishedAt: STARTED_MS / 1000 + after,
      })),
    });

  test('a pod that has not come to its end has exceeded it', () => {
    for (const phase of ['Pending', 'Running'])
      expect(hasExceededDeadline(withDeadline(5), { ...STARTED, phase }, endedAfter(1))).toBe(true);
  });

  test.each(['Succeeded', 'Failed'])(
    'a pod that is %s kept it if its last container ended before',
    (phase) => {
      const exceeded = (...seconds: number[]) =>
        hasExceededDeadline(withDeadline(5), { ...STARTED, phase }, endedAfter(...seconds));
      expect(exceeded(1, 4)).toBe(false);
      expect(exceeded(1, 5)).toBe(true);
      expect(exceeded()).toBe(false);
    },
  );
});
