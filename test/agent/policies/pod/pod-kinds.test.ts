import { describe, expect, test } from '@jest/globals';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  isCriticalPod,
  isCriticalPriority,
  isMirrorPod,
  isNodeCriticalPod,
  isPreemptable,
  isStaticPod,
  podFullName,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import type { Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('critical');

const pod = (annotations?: Record<string, string>, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u', ...(annotations && { annotations }) },
  spec: { containers: [], ...spec },
});

test('the full name is name_namespace, without the UID', () => {
  expect(podFullName(pod())).toBe('web_shop');
});

test("the annotations have the kubelet's names", () => {
  expect([
    CONFIG_SOURCE_ANNOTATION,
    CONFIG_MIRROR_ANNOTATION,
    CONFIG_HASH_ANNOTATION,
    CONFIG_SEEN_ANNOTATION,
  ]).toEqual([
    'kubernetes.io/config.source',
    'kubernetes.io/config.mirror',
    'kubernetes.io/config.hash',
    'kubernetes.io/config.seen',
  ]);
});

test('every source but the API server makes a pod static; only the mirror annotation makes it a mirror pod', () => {
  expect(isStaticPod(pod({ [CONFIG_SOURCE_ANNOTATION]: 'file' }))).toBe(true);
  expect(isStaticPod(pod({ [CONFIG_SOURCE_ANNOTATION]: 'api' }))).toBe(false);
  expect(isStaticPod(pod({ [CONFIG_MIRROR_ANNOTATION]: 'hash' }))).toBe(false);
  expect(isMirrorPod(pod({ [CONFIG_MIRROR_ANNOTATION]: '' }))).toBe(true);
  expect(isMirrorPod(pod({ [CONFIG_SOURCE_ANNOTATION]: 'file' }))).toBe(false);
});

test('a priority is critical from 2,000,000,000 on', () => {
  expect(isCriticalPriority(1_999_999_999)).toBe(false);
  expect(isCriticalPriority(2_000_000_000)).toBe(true);
});

test('the name of the priority class alone does not make a pod node-critical', () => {
  const priorityClassName = 'system-node-critical';
  expect(isNodeCriticalPod(pod({}, { priorityClassName }))).toBe(false);
  expect(isNodeCriticalPod(pod({}, { priorityClassName, priority: 2_000_001_000 }))).toBe(true);
});

describe('isPreemptable', () => {
  const low = pod({}, { priority: 1 });
  const high = pod({}, { priority: 2 });
  const critical = pod({}, { priority: 2_000_000_000 });
  const moreCritical = pod({}, { priority: 2_000_000_001 });
  const fromFile = pod({ [CONFIG_SOURCE_ANNOTATION]: 'file' });

  test('a pod of strictly higher priority may preempt, one of equal priority may not', () => {
    expect(isPreemptable(high, low)).toBe(true);
    expect(isPreemptable(low, high)).toBe(false);
    expect(isPreemptable(low, pod({}, { priority: 1 }))).toBe(false);
    expect(isPreemptable(high, pod())).toBe(false);
  });

  test('a critical pod may preempt every pod that is not critical, whatever their priorities', () => {
    expect(isCriticalPod(fromFile)).toBe(true);
    expect(isPreemptable(fromFile, high)).toBe(true);
    expect(isPreemptable(high, fromFile)).toBe(false);
  });

  test('between critical pods the priority decides', () => {
    expect(isPreemptable(moreCritical, critical)).toBe(true);
    expect(isPreemptable(fromFile, critical)).toBe(false);
  });
});
