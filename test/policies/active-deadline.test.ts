import { expect, test } from '@jest/globals';
import { activeDeadline } from '../../src/policies/active-deadline.ts';
import type { PodStatus } from '../../src/types/kubernetes.ts';
import { testPod } from '../support/pods.ts';

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
