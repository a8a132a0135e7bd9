import { describe, expect, test } from '@jest/globals';
import {
  classProtections,
  type ContainerMemoryQoS,
  containerMemoryFiles,
  keptMemory,
  podMemoryProtection,
} from '../../../../src/agent/policies/cgroups/memory-qos.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

type Resources = NonNullable<Container['resources']>;

const NONE: ContainerMemoryQoS = {
  throttlingFactor: 0.9,
  reservationPolicy: 'None',
  allocatableBytes: 4 * 2 ** 30,
  pageSizeBytes: 4096,
};
const TIERED: ContainerMemoryQoS = { ...NONE, reservationPolicy: 'TieredReservation' };

const container = (resources: Resources): Container => ({ name: 'main', resources });
function podOf(resources: Resources, ...others: Resources[]): Pod {
  const { metadata, spec } = testPod();
  return { metadata, spec: { ...spec, containers: [resources, ...others].map(container) } };
}
const both = (amounts: Record<string, string>): Resources => ({ requests: amounts, limits: amounts });
const GUARANTEED = both({ cpu: '1', memory: '128Mi' });
const BURSTABLE = { requests: { memory: '128Mi' }, limits: { memory: '256Mi' } };
const filesOf = (resources: Resources, qos: ContainerMemoryQoS) =>
  containerMemoryFiles(podOf(resources), container(resources), qos);

describe('memory.high of a container', () => {
  test.each<[string, Resources, number, string | undefined]>([
    ['a part of the way from request to limit, in whole pages', BURSTABLE, 0.9, '255013683'],
    ['by the throttling factor', BURSTABLE, 0.5, '201326592'],
    ['its limit, if the factor is 1', BURSTABLE, 1, '268435456'],
    [
      'without a limit on the way to what all pods may use',
      { requests: { memory: '1Gi' } },
      0.9,
      '3972844748',
    ],
    ['without a request a part of the limit', { limits: { memory: '1Gi' } }, 0.9, '966367641'],
    ['missing, if it requests its limit', GUARANTEED, 0.9, undefined],
    ['missing, if it has neither', {}, 0.9, undefined],
    [
      'missing, if a page is more than the way',
      { requests: { memory: '4096' }, limits: { memory: '8000' } },
      0.9,
      undefined,
    ],
    ['missing, if it requests more than all pods may use', { requests: { memory: '5Gi' } }, 0.9, undefined],
  ])('is %s', (_, resources, throttlingFactor, bytes) => {
    const wanted = bytes && String(Number(bytes) - (Number(bytes) % 4096));
    expect(filesOf(resources, { ...NONE, throttlingFactor })['memory.high']).toBe(wanted);
  });

  test('is a number of pages, also where they are larger', () => {
    expect(filesOf(BURSTABLE, { ...NONE, pageSizeBytes: 65_536 })['memory.high']).toBe(String(3891 * 65_536));
  });

  test('is missing where the limit of all pods is not known', () => {
    expect(filesOf({ requests: { memory: '1Gi' } }, { ...NONE, allocatableBytes: 0 })).not.toHaveProperty([
      'memory.high',
    ]);
  });
});

describe('the memory that the kernel keeps for a container', () => {
  test('is none with the policy None, whatever was written before', () => {
    expect(filesOf(GUARANTEED, NONE)).toEqual({ 'memory.min': '0', 'memory.low': '0' });
  });

  test('is, with TieredReservation, what it requests: firmly in a Guaranteed pod, as far as possible in a Burstable one', () => {
    expect(filesOf(GUARANTEED, TIERED)).toEqual({ 'memory.min': '134217728' });
    expect(filesOf(BURSTABLE, TIERED)).toMatchObject({ 'memory.low': '134217728' });
    expect(filesOf(BURSTABLE, TIERED)).not.toHaveProperty(['memory.min']);
  });

  test('is none with TieredReservation if it requests none', () => {
    expect(filesOf({ requests: { cpu: '1' } }, TIERED)).toEqual({ 'memory.min': '0', 'memory.low': '0' });
  });
});

describe('the memory that the kernel keeps for a pod', () => {
  test('is, with TieredReservation, the sum of what its containers request', () => {
    expect(podMemoryProtection(podOf(GUARANTEED, GUARANTEED), TIERED)).toEqual({ memoryMinBytes: 2n ** 28n });
    expect(podMemoryProtection(podOf(BURSTABLE, GUARANTEED), TIERED)).toEqual({ memoryLowBytes: 2n ** 28n });
    expect(podMemoryProtection(podOf({}), TIERED)).toEqual({});
  });

  test('is left alone with the policy None: what its parent does not keep is not kept', () => {
    expect(podMemoryProtection(podOf(GUARANTEED), NONE)).toEqual({});
  });
});

describe('the memory that the kernel keeps for all pods', () => {
  const pods = [podOf(GUARANTEED), podOf(BURSTABLE), podOf(BURSTABLE), podOf({})];

  test('is, with TieredReservation, what they request: a group keeps no more than the one above it', () => {
    const kept = keptMemory(pods, TIERED);
    expect(kept).toEqual({ guaranteedBytes: 2n ** 27n, burstableBytes: 2n ** 28n });
    expect(classProtections(kept)).toEqual({
      kubepods: { memoryMinBytes: 3n * 2n ** 27n },
      burstable: { memoryLowBytes: 2n ** 28n },
    });
  });

  test('is none with the policy None', () => {
    expect(classProtections(keptMemory(pods, NONE))).toEqual({
      kubepods: { memoryMinBytes: 0n },
      burstable: { memoryLowBytes: 0n },
    });
  });
});
