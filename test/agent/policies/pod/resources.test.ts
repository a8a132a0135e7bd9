import { describe, expect, test } from '@jest/globals';
import { formatQuantity } from '../../../../src/agent/policies/formats/quantity.ts';
import {
  hugePageLimits,
  hugePageSizeName,
  podLimits,
  podRequests,
  type ResourceQuantities,
  resourceRequest,
} from '../../../../src/agent/policies/pod/resources.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('podRequests');

type Amounts = Record<string, string>;

const container = (requests: Amounts, more: Partial<Container> = {}): Container => ({
  name: 'c',
  image: 'i',
  resources: { requests, limits: requests },
  ...more,
});
const sidecar = (requests: Amounts) => container(requests, { restartPolicy: 'Always' });
const pod = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], ...spec },
});
const printed = (quantities: ResourceQuantities) =>
  Object.fromEntries([...quantities].map(([name, quantity]) => [name, formatQuantity(quantity)]));

describe('podRequests', () => {
  test('an init container is counted with the sidecars before it, not with those after it', () => {
    const before = pod({ initContainers: [sidecar({ cpu: '1' }), container({ cpu: '4' })] });
    const after = pod({ initContainers: [container({ cpu: '4' }), sidecar({ cpu: '1' })] });
    expect(printed(podRequests(before))).toEqual({ cpu: '5' });
    expect(printed(podRequests(after))).toEqual({ cpu: '4' });
  });

  test('each resource that the pod itself requests replaces that of its containers', () => {
    const mixed = pod({
      containers: [container({ cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' })],
      resources: { requests: { cpu: '3', 'ephemeral-storage': '9Gi' } },
    });
    expect(printed(podRequests(mixed))).toEqual({ cpu: '3', memory: '1Gi', 'ephemeral-storage': '1Gi' });
  });

  test('a resource may have the name of a property that every object has', () => {
    expect(printed(podRequests(pod({ containers: [container({ constructor: '1' })] })))).toEqual({
      constructor: '1',
    });
  });

  test('an unreadable quantity is an error, not a zero', () => {
    expect(() => podRequests(pod({ containers: [container({ cpu: 'much' })] }))).toThrow(
      'quantities must match',
    );
  });
});

test('podLimits: overhead is added to limits, but is no limit itself', () => {
  const limited = pod({
    containers: [container({ cpu: '1', memory: '0' })],
    overhead: { cpu: '1', memory: '1Gi', pid: '5' },
  });
  expect(printed(podLimits(limited))).toEqual({ cpu: '2', memory: '0' });
  expect(printed(podLimits(limited, { excludeOverhead: true }))).toEqual({ cpu: '1', memory: '0' });
  expect(printed(podRequests(limited))).toEqual({ cpu: '2', memory: '1Gi', pid: '5' });
});

describe('resourceRequest', () => {
  test('cpu counts in thousandths, other resources in whole units, a pod as one', () => {
    const small = pod({ containers: [container({ cpu: '0.0005', memory: '1.5Ki' })] });
    expect(resourceRequest(small, 'cpu')).toBe(1n);
    expect(resourceRequest(small, 'memory')).toBe(1536n);
    expect(resourceRequest(small, 'pods')).toBe(1n);
    expect(resourceRequest(small, 'example.com/gpu')).toBe(0n);
  });

  test('a resource may have the name of a property that every object has', () => {
    const odd = pod({ containers: [container({ constructor: '1' }), container({ cpu: '1' })], overhead: {} });
    expect(resourceRequest(odd, 'constructor')).toBe(1n);
    expect(resourceRequest(odd, 'toString')).toBe(0n);
  });

  test('the peak of the init containers counts if it is higher', () => {
    const initContainers = [sidecar({ cpu: '1' }), container({ cpu: '4' }), sidecar({ cpu: '2' })];
    const peaking = pod({ containers: [container({ cpu: '1' })], initContainers });
    expect(resourceRequest(peaking, 'cpu')).toBe(5000n);
  });

  test('resources of the pod itself replace all those of its containers', () => {
    const own = pod({ containers: [container({ memory: '1Gi' })], resources: { limits: { cpu: '1' } } });
    expect(resourceRequest(own, 'memory')).toBe(0n);
  });

  test('overhead is added to a request, and is no request itself', () => {
    const overhead = { cpu: '100m', memory: '1Ki' };
    const requesting = pod({ containers: [container({ cpu: '1' })], overhead });
    expect(resourceRequest(requesting, 'cpu')).toBe(1100n);
    expect(resourceRequest(requesting, 'memory')).toBe(0n);
  });
});

test.each([
  [64 * 1024, '64KB'],
  [2 * 1024 ** 2, '2MB'],
  [512 * 1024 ** 2, '512MB'],
  [1024 ** 3, '1GB'],
  [16 * 1024 ** 3, '16GB'],
  [1024 ** 5, '1PB'],
  [1024 ** 6, '1024PB'],
])('pages of %d bytes are called %s', (bytes, name) => {
  expect(hugePageSizeName(bytes)).toBe(name);
});

test('the limits of a pod are found by the name of the page size, whatever the spelling', () => {
  const limits = { cpu: '1', 'hugepages-2Mi': '100Mi', 'hugepages-1048576Ki': '2Gi' };
  expect(hugePageLimits(limits)).toEqual(
    new Map([
      ['2MB', 100 * 1024 ** 2],
      ['1GB', 2 * 1024 ** 3],
    ]),
  );
  expect(hugePageLimits(undefined)).toEqual(new Map());
});

test('pages of size 0 do not exist', () => {
  expect(hugePageLimits({ 'hugepages-0': '1Mi' })).toEqual(new Map());
});

test('a size that is no quantity is an error', () => {
  expect(() => hugePageLimits({ 'hugepages-big': '1Mi' })).toThrow('quantities');
});
