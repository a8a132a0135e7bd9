import { describe, expect, test } from '@jest/globals';
import {
  containerGracePeriodSeconds,
  stopTimeoutSeconds,
  terminationPrerequisites,
} from '../../../src/policies/sync/termination-grace.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { testVectors } from '../../support/test-vectors.ts';

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
