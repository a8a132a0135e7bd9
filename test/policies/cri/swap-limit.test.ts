import { describe, expect, test } from '@jest/globals';
import { swapLimit } from '../../../src/policies/cri/swap-limit.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/policies/pod/pod-kinds.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import type { SwapBehavior } from '../../../src/types/node-settings.ts';
import { testPod } from '../../support/pods.ts';

type Resources = NonNullable<Container['resources']>;
const MACHINE = { memoryCapacityBytes: 40 * 2 ** 30, swapCapacityBytes: 20 * 2 ** 30 };

function limitOf(
  resources: Resources,
  { behavior = 'LimitedSwap', others = [] as Container[], priority = 0, source = 'api' } = {},
): number {
  const container: Container = { name: 'main', resources };
  const { metadata, spec } = testPod();
  const pod: Pod = {
    metadata: { ...metadata, annotations: { [CONFIG_SOURCE_ANNOTATION]: source } },
    spec: { ...spec, priority, containers: [container, ...others] },
  };
  return swapLimit(pod, container, { ...MACHINE, swapBehavior: behavior as SwapBehavior });
}

describe('with LimitedSwap, a container of a Burstable pod', () => {
  test('may use as large a part of the swap as it requests of the memory', () => {
    expect(limitOf({ requests: { memory: '4Gi' } })).toBe(2 * 2 ** 30);
    expect(limitOf({ requests: { memory: '4Gi' }, limits: { memory: '5Gi' } })).toBe(2 * 2 ** 30);
    expect(limitOf({ requests: { memory: '1000' } })).toBe(500);
    expect(limitOf({ requests: { memory: '1001' } })).toBe(500);
  });

  test('may use none if it requests no memory, or all that it may have', () => {
    expect(limitOf({ requests: { cpu: '1' } })).toBe(0);
    expect(limitOf({ requests: { cpu: '1', memory: '4Gi' }, limits: { memory: '4Gi' } })).toBe(0);
  });

  test('that has only a limit may use none', () => {
    expect(limitOf({ limits: { memory: '4Gi' } })).toBe(0);
  });

  test('may use none if it requests more memory than the machine has', () => {
    expect(limitOf({ requests: { memory: '41Gi' } })).toBe(0);
  });
});

const BURSTABLE = { requests: { memory: '4Gi' } };

test.each<SwapBehavior>(['', 'NoSwap'])('with swapBehavior "%s" containers may use none', (behavior) => {
  expect(limitOf(BURSTABLE, { behavior })).toBe(0);
});

test('a container of a pod that is not Burstable may use none', () => {
  const all = { cpu: '1', memory: '4Gi' };
  expect(limitOf({ requests: all, limits: all })).toBe(0);
  expect(limitOf({})).toBe(0);
});

test('a container of a critical pod may use none', () => {
  expect(limitOf(BURSTABLE, { priority: 2_000_000_000 })).toBe(0);
  expect(limitOf(BURSTABLE, { source: 'file' })).toBe(0);
});

test('a container that requests nothing in a Burstable pod may use none', () => {
  expect(limitOf({}, { others: [{ name: 'other', resources: BURSTABLE }] })).toBe(0);
});
