import { describe, expect, test } from '@jest/globals';
import {
  type ContainerResourceFacts,
  containerResources,
} from '../../../src/policies/cri/linux-resources.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';

const FACTS: ContainerResourceFacts = {
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  cgroupVersion: 1,
  memoryCapacityBytes: 8 * 2 ** 30,
  swapCapacityBytes: 0,
  hugePageSizes: ['1GB', '2MB'],
  swapController: false,
};

const QOS: NonNullable<ContainerResourceFacts['memoryQoS']> = {
  throttlingFactor: 0.9,
  reservationPolicy: 'TieredReservation',
  allocatableBytes: 8 * 2 ** 30,
  pageSizeBytes: 4096,
};

type Resources = NonNullable<Container['resources']>;

function resourcesOf(resources: Resources, facts: Partial<ContainerResourceFacts> = {}, ofPod?: Resources) {
  const container: Container = { name: 'main', resources };
  const base = testPod();
  const spec: Pod['spec'] = { ...base.spec, containers: [container], ...(ofPod && { resources: ofPod }) };
  return containerResources({ ...base, spec }, container, { ...FACTS, ...facts });
}

describe('CPU shares', () => {
  test.each<[Resources, number]>([
    [{}, 2],
    [{ requests: { cpu: '0' } }, 2],
    [{ requests: { cpu: '1m' } }, 2],
    [{ requests: { cpu: '100m' } }, 102],
    [{ requests: { cpu: '1' } }, 1024],
    [{ requests: { cpu: '1500m' }, limits: { cpu: '3' } }, 1536],
    [{ requests: { cpu: '1000' } }, 262_144],
    [{ limits: { cpu: '250m' } }, 256],
    [{ requests: { cpu: '0' }, limits: { cpu: '250m' } }, 2],
  ])('%j: %d', (resources, shares) => {
    expect(resourcesOf(resources).cpuShares).toBe(shares);
  });
});

describe('CPU quota', () => {
  test.each<[Resources, number]>([
    [{ requests: { cpu: '1' } }, 0],
    [{ limits: { cpu: '1m' } }, 1000],
    [{ limits: { cpu: '15m' } }, 1500],
    [{ limits: { cpu: '2500m' } }, 250_000],
  ])('%j: %d us of each 100 ms', (resources, cpuQuota) => {
    expect(resourcesOf(resources)).toMatchObject({ cpuQuota, cpuPeriod: 100_000 });
  });

  test('follows the period', () => {
    const found = resourcesOf({ limits: { cpu: '1500m' } }, { cpuCFSQuotaPeriodUs: 5000 });
    expect(found).toMatchObject({ cpuQuota: 7500, cpuPeriod: 5000 });
  });

  test('is 0 if limits are not enforced', () => {
    const found = resourcesOf({ limits: { cpu: '1' } }, { cpuCFSQuota: false });
    expect(found).toMatchObject({ cpuQuota: 0, cpuPeriod: 0, cpuShares: 1024 });
  });
});

describe('limits of the pod as a whole', () => {
  const ofPod = { limits: { cpu: '2', memory: '1Gi' } };

  test('stand in for limits that a container does not have', () => {
    expect(resourcesOf({ requests: { cpu: '100m' } }, {}, ofPod)).toMatchObject({
      cpuShares: 102,
      cpuQuota: 200_000,
      memoryLimitInBytes: 2 ** 30,
    });
    expect(resourcesOf({}, {}, ofPod).cpuShares).toBe(2048);
  });

  test('do not replace limits that the container has', () => {
    const found = resourcesOf({ limits: { cpu: '1', memory: '64Mi' } }, {}, ofPod);
    expect(found).toMatchObject({ cpuQuota: 100_000, memoryLimitInBytes: 64 * 2 ** 20 });
  });
});

describe('memory and huge pages', () => {
  test('without a memory limit it is 0', () => {
    expect(resourcesOf({ requests: { memory: '1Gi' } }).memoryLimitInBytes).toBe(0);
  });

  test('a container has a limit for each page size of the machine: its own, else 0', () => {
    expect(
      resourcesOf({ limits: { 'hugepages-2Mi': '6Mi', 'hugepages-32Mi': '64Mi' } }).hugepageLimits,
    ).toEqual([
      { pageSize: '1GB', limit: 0 },
      { pageSize: '2MB', limit: 6 * 2 ** 20 },
    ]);
  });

  test("the pod's limit of huge pages stands in for one that a container does not have", () => {
    const ofPod = { limits: { 'hugepages-2Mi': '8Mi', 'hugepages-1Gi': '2Gi' } };
    expect(resourcesOf({ limits: { 'hugepages-2Mi': '2Mi' } }, {}, ofPod).hugepageLimits).toEqual([
      { pageSize: '1GB', limit: 2 * 2 ** 30 },
      { pageSize: '2MB', limit: 2 * 2 ** 20 },
    ]);
  });
});

describe('cgroup v2', () => {
  test('a container that is out of memory is killed as a whole, and does not use swap', () => {
    expect(resourcesOf({}, { cgroupVersion: 2, swapController: true }).unified).toEqual({
      'memory.oom.group': '1',
      'memory.swap.max': '0',
    });
  });

  test("unless the node's settings say otherwise, or it cannot limit swap", () => {
    expect(resourcesOf({}, { cgroupVersion: 2, singleProcessOOMKill: true }).unified).toBeUndefined();
    expect(resourcesOf({}, { cgroupVersion: 2 }).unified).toEqual({ 'memory.oom.group': '1' });
  });

  test('with v1 the limit of memory and swap together is the memory limit', () => {
    const limits = { memory: '64Mi' };
    const limitOf = (swapController: boolean) =>
      resourcesOf({ limits }, { swapController }).memorySwapLimitInBytes;
    expect(limitOf(true)).toBe(64 * 2 ** 20);
    expect(limitOf(false)).toBeUndefined();
  });

  test('with v1 there are no unified keys', () => {
    expect(resourcesOf({}, { swapController: true, memoryQoS: QOS }).unified).toBeUndefined();
  });

  test('the feature MemoryQoS adds its files to those of swap and of the OOM killer', () => {
    const resources = { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } };
    const facts: Partial<ContainerResourceFacts> = {
      cgroupVersion: 2,
      swapController: true,
      swapBehavior: 'LimitedSwap',
      swapCapacityBytes: 2 ** 30,
      memoryQoS: QOS,
    };
    expect(resourcesOf(resources, facts).unified).toEqual({
      'memory.oom.group': '1',
      'memory.swap.max': String(2 ** 27),
      'memory.low': String(2 ** 30),
      'memory.high': '2040107008',
    });
  });
});
