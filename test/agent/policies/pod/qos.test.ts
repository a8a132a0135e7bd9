import { describe, expect, test } from '@jest/globals';
import { computePodQOS, podQOS } from '../../../../src/agent/policies/pod/qos.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('qos');

type Amounts = Record<string, string>;

const container = (requests: Amounts, limits: Amounts = requests): Container => ({
  name: 'c',
  image: 'i',
  resources: { requests, limits },
});
const pod = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], ...spec },
});
const FULL = { cpu: '1', memory: '1Gi' };

describe('computePodQOS', () => {
  test('different spellings of the same amount are equal', () => {
    const spelled = container({ cpu: '1000m', memory: '1024Mi' }, FULL);
    expect(computePodQOS(pod({ containers: [spelled] }))).toBe('Guaranteed');
  });

  test('one container or init container without limits makes the pod Burstable', () => {
    expect(computePodQOS(pod({ containers: [container(FULL), container({})] }))).toBe('Burstable');
    expect(computePodQOS(pod({ containers: [container(FULL)], initContainers: [container({})] }))).toBe(
      'Burstable',
    );
  });

  test('amounts of zero, and resources other than cpu and memory, do not count', () => {
    const idle = container({ cpu: '0', memory: '0m', 'ephemeral-storage': '1Gi' });
    expect(computePodQOS(pod({ containers: [idle] }))).toBe('BestEffort');
  });

  test("the pod's own resources replace those of its containers, even if they are empty", () => {
    expect(computePodQOS(pod({ containers: [container(FULL)], resources: {} }))).toBe('BestEffort');
    expect(
      computePodQOS(pod({ containers: [container({})], resources: { requests: FULL, limits: FULL } })),
    ).toBe('Guaranteed');
  });
});

test('podQOS: the class in the status counts, whatever the spec says', () => {
  const decided = { ...pod({ containers: [container(FULL)] }), status: { qosClass: 'Burstable' } };
  expect(podQOS(decided)).toBe('Burstable');
  expect(podQOS({ ...decided, status: { qosClass: '' } })).toBe('Guaranteed');
  expect(podQOS(pod({}))).toBe('BestEffort');
});
