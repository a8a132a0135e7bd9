import { describe, expect, test } from '@jest/globals';
import {
  effectiveGracePeriodSeconds,
  isEnding,
  isTerminalPhase,
  RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
} from '../../../src/policies/sync/pod-termination.ts';
import { testPod } from '../../support/pods.ts';

describe('which pods must not run (3)', () => {
  test('3: a pod with a deletionTimestamp', () => {
    expect(isEnding(testPod({ deleted: true }))).toBe(true);
  });

  test.each(['Failed', 'Succeeded'])('3: a pod of phase %s', (phase) => {
    expect(isEnding(testPod({ phase }))).toBe(true);
  });

  test.each([undefined, 'Pending', 'Running', 'Unknown'])('3: but not a pod of phase %s', (phase) => {
    expect(isEnding(testPod({ ...(phase && { phase }) }))).toBe(false);
    expect(isTerminalPhase(phase)).toBe(false);
  });
});

describe('the grace period of a stop (4)', () => {
  const pod = testPod({ terminationGracePeriodSeconds: 40 });

  test('4: is that of the spec if nothing else is given', () => {
    expect(effectiveGracePeriodSeconds(undefined, pod)).toBe(40);
  });

  test('4: is 30 s if the spec has none either, as for a pod that only the runtime knows', () => {
    const silent = { ...pod, spec: { containers: pod.spec.containers } };
    expect(effectiveGracePeriodSeconds(undefined, silent)).toBe(30);
    expect(effectiveGracePeriodSeconds(undefined, undefined)).toBe(30);
  });

  test('4: is that of the deletion before that of the spec, even if it is longer', () => {
    const patient = testPod({ terminationGracePeriodSeconds: 40, deletionGracePeriodSeconds: 90 });
    expect(effectiveGracePeriodSeconds(undefined, patient)).toBe(90);
  });

  test('4: is that of the kill before that of the spec, even if it is longer', () => {
    expect(effectiveGracePeriodSeconds(undefined, pod, 90)).toBe(90);
  });

  test('4: is the shorter of those of the deletion and the kill', () => {
    const deleted = testPod({ deleted: true, deletionGracePeriodSeconds: 20 });
    expect(effectiveGracePeriodSeconds(undefined, deleted, 50)).toBe(20);
    expect(effectiveGracePeriodSeconds(undefined, deleted, 5)).toBe(5);
  });

  test('4, I4: never grows once it is in force', () => {
    expect(effectiveGracePeriodSeconds(10, pod, 50)).toBe(10);
    expect(effectiveGracePeriodSeconds(10, testPod({ deletionGracePeriodSeconds: 60 }))).toBe(10);
    expect(effectiveGracePeriodSeconds(10, pod, 3)).toBe(3);
  });

  test('4, I4: is not replaced by that of the spec once it is in force', () => {
    expect(effectiveGracePeriodSeconds(60, pod)).toBe(60);
    expect(effectiveGracePeriodSeconds(10, pod)).toBe(10);
  });

  test.each([0, -5])('4: is at least 1 s: %d', (seconds) => {
    expect(effectiveGracePeriodSeconds(undefined, pod, seconds)).toBe(1);
    expect(effectiveGracePeriodSeconds(undefined, testPod({ deletionGracePeriodSeconds: seconds }))).toBe(1);
    expect(effectiveGracePeriodSeconds(undefined, testPod({ terminationGracePeriodSeconds: seconds }))).toBe(
      1,
    );
  });

  test('housekeeping: a pod that only the runtime knows has 1 s', () => {
    const override = RUNTIME_ONLY_GRACE_PERIOD_SECONDS;
    expect(effectiveGracePeriodSeconds(undefined, undefined, override)).toBe(1);
  });
});
