import { describe, expect, test } from '@jest/globals';
import {
  activeDeadline,
  containerGracePeriodSeconds,
  effectiveGracePeriodSeconds,
  hasExceededDeadline,
  isEnding,
  isPastDeadline,
  isTerminalPhase,
  RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
  stopTimeoutSeconds,
  terminationPrerequisites,
} from '../../../../src/agent/policies/termination/pod-termination.ts';
import type { Container, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { testVectors } from '../../../support/test-vectors.ts';

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

testVectors('terminationGrace');

const METADATA = { name: 'pod', namespace: 'ns', uid: 'uid' };

const WEB: Container = {
  name: 'web',
  livenessProbe: { terminationGracePeriodSeconds: 5 },
  startupProbe: { terminationGracePeriodSeconds: 7 },
};

function podWith(terminationGracePeriodSeconds?: number, deletionGracePeriodSeconds?: number): Pod {
  return {
    metadata: {
      ...METADATA,
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    },
    spec: {
      containers: [WEB],
      ...(terminationGracePeriodSeconds !== undefined && { terminationGracePeriodSeconds }),
    },
  };
}

describe('containerGracePeriodSeconds', () => {
  test("is the pod's for an ordinary kill, whatever its probes set", () => {
    expect(containerGracePeriodSeconds(podWith(30), WEB, '')).toBe(30);
    expect(containerGracePeriodSeconds(podWith(30), WEB, 'Unknown')).toBe(30);
  });

  test('is that of the probe that failed', () => {
    expect(containerGracePeriodSeconds(podWith(30), WEB, 'LivenessProbe')).toBe(5);
    expect(containerGracePeriodSeconds(podWith(30), WEB, 'StartupProbe')).toBe(7);
  });

  test("is the pod's if the failed probe sets none", () => {
    const container = { name: 'web', livenessProbe: {} };
    expect(containerGracePeriodSeconds(podWith(30), container, 'LivenessProbe')).toBe(30);
  });

  test("lifecycle 4: is the deletion's if there is one, before the pod's and any probe's", () => {
    expect(containerGracePeriodSeconds(podWith(30, 3), WEB, '')).toBe(3);
    expect(containerGracePeriodSeconds(podWith(30, 0), WEB, 'LivenessProbe')).toBe(0);
  });

  test('is 2 s if the pod has none, even for a failed probe', () => {
    expect(containerGracePeriodSeconds(podWith(), WEB, 'LivenessProbe')).toBe(2);
  });
});

describe('stopTimeoutSeconds', () => {
  test('is never below 2 s', () => {
    expect(stopTimeoutSeconds({ gracePeriodSeconds: 0 })).toBe(2);
    expect(stopTimeoutSeconds({ gracePeriodSeconds: 30, overrideSeconds: 1 })).toBe(2);
  });

  test("is the override's if there is one, 0 included", () => {
    expect(stopTimeoutSeconds({ gracePeriodSeconds: 30, overrideSeconds: 10 })).toBe(10);
    expect(stopTimeoutSeconds({ gracePeriodSeconds: 30, overrideSeconds: 0 })).toBe(2);
  });

  test('is shorter by what preStop and waiting for others have used up', () => {
    expect(stopTimeoutSeconds({ gracePeriodSeconds: 30, spentSeconds: 12 })).toBe(18);
    expect(stopTimeoutSeconds({ gracePeriodSeconds: 30, spentSeconds: 40 })).toBe(2);
  });
});

describe('terminationPrerequisites', () => {
  const pod: Pod = {
    metadata: METADATA,
    spec: {
      initContainers: [
        { name: 'first', restartPolicy: 'Always' },
        { name: 'setup' },
        { name: 'second', restartPolicy: 'Always' },
        { name: 'third', restartPolicy: 'Always' },
      ],
      containers: [{ name: 'web' }, { name: 'db' }],
    },
  };

  test('sidecars wait for all regular containers, and each for the next sidecar, so that they end in reverse', () => {
    const running = new Set(['first', 'second', 'third', 'web', 'db']);
    const { regular, nextOf } = terminationPrerequisites(pod, running);
    expect(regular).toEqual(['web', 'db']);
    expect(Object.fromEntries(nextOf)).toEqual({ first: 'second', second: 'third', third: undefined });
  });

  test('no sidecar waits for a container that does not run', () => {
    const { regular, nextOf } = terminationPrerequisites(pod, new Set(['first', 'third', 'db']));
    expect([regular, nextOf.get('first')]).toEqual([['db'], undefined]);
  });
});
