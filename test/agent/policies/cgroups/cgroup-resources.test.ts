import { describe, expect, test } from '@jest/globals';
import {
  burstableCPUShares,
  kubepodsResources,
  milliCPUToQuotaUs,
  milliCPUToShares,
  podCgroupResources,
  sharesToWeight,
  weightToShares,
} from '../../../../src/agent/policies/cgroups/cgroup-resources.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';

const SETTINGS = { podPidsLimit: -1, cpuCFSQuota: true, cpuCFSQuotaPeriodUs: 100_000 };
const NO_HUGE_PAGES = { hugePageLimits: new Map() };
type Amounts = Record<string, string>;

const container = (
  requests: Amounts | undefined,
  limits?: Amounts,
  more: Partial<Container> = {},
): Container => ({
  name: 'c',
  image: 'i',
  resources: { ...(requests && { requests }), ...(limits && { limits }) },
  ...more,
});
const pod = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], ...spec },
});
const resourcesOf = (spec: Partial<PodSpec>, settings: Partial<typeof SETTINGS> = {}) =>
  podCgroupResources(pod(spec), { ...SETTINGS, ...settings });

const FULL = { cpu: '500m', memory: '100Mi' };
const FULL_LIMITED = {
  cpuShares: 512,
  cpuQuotaUs: 50_000,
  cpuPeriodUs: 100_000,
  memoryLimitBytes: 104_857_600n,
};

describe("a pod's group", () => {
  test('Guaranteed: has CPU shares, CPU quota and a memory limit', () => {
    expect(resourcesOf({ containers: [container(FULL, FULL)] })).toEqual({
      ...FULL_LIMITED,
      ...NO_HUGE_PAGES,
    });
  });

  test('BestEffort: has the fewest CPU shares, and no limit', () => {
    expect(resourcesOf({ containers: [container(undefined)] })).toEqual({ cpuShares: 2, ...NO_HUGE_PAGES });
  });

  test('Burstable: a resource is limited if every container has a limit of it', () => {
    const some = container({ cpu: '100m' }, { memory: '100Mi' });
    expect(resourcesOf({ containers: [some, container({ cpu: '100m' }, FULL)] })).toEqual({
      cpuShares: 204,
      memoryLimitBytes: 209_715_200n,
      ...NO_HUGE_PAGES,
    });
    expect(resourcesOf({ containers: [some, container({ cpu: '100m' })] })).toEqual({
      cpuShares: 204,
      ...NO_HUGE_PAGES,
    });
  });

  test.each([
    ['an init container', { initContainers: [container(FULL)] }],
    ['a sidecar', { initContainers: [container(FULL, undefined, { restartPolicy: 'Always' })] }],
  ])('Burstable: is not limited when %s has no limit', (_, more) => {
    const resources = resourcesOf({ containers: [container(FULL, FULL)], ...more });
    expect(resources).not.toHaveProperty('cpuQuotaUs');
    expect(resources).not.toHaveProperty('memoryLimitBytes');
  });

  test('a limit of 0 counts as no limit', () => {
    const resources = resourcesOf({ containers: [container({ cpu: '1' }, { cpu: '0', memory: '0' })] });
    expect(resources).toEqual({ cpuShares: 1024, ...NO_HUGE_PAGES });
  });

  test('limits of the pod itself replace those of its containers', () => {
    const spec = { containers: [container(undefined)], resources: { limits: FULL, requests: FULL } };
    expect(resourcesOf(spec)).toEqual({ ...FULL_LIMITED, ...NO_HUGE_PAGES });
  });

  test('overhead is added', () => {
    const overhead = { cpu: '100m', memory: '10Mi' };
    expect(resourcesOf({ containers: [container(FULL, FULL)], overhead })).toMatchObject({
      cpuShares: 614,
      cpuQuotaUs: 60_000,
      memoryLimitBytes: 115_343_360n,
    });
  });

  test('without cpuCFSQuota the quota is -1, no limit', () => {
    expect(resourcesOf({ containers: [container(FULL, FULL)] }, { cpuCFSQuota: false })).toMatchObject({
      cpuQuotaUs: -1,
      cpuPeriodUs: 100_000,
    });
  });

  test('the quota depends on the period of the settings', () => {
    expect(
      resourcesOf({ containers: [container(FULL, FULL)] }, { cpuCFSQuotaPeriodUs: 10_000 }),
    ).toMatchObject({ cpuQuotaUs: 5000, cpuPeriodUs: 10_000 });
  });

  test('podPidsLimit limits processes, of every class', () => {
    for (const containers of [[container(undefined)], [container(FULL, FULL)]]) {
      expect(resourcesOf({ containers }, { podPidsLimit: 100 })).toMatchObject({ pidsLimit: 100 });
      expect(resourcesOf({ containers })).not.toHaveProperty('pidsLimit');
    }
  });

  test('huge pages are limited to what is requested, by the size of the page', () => {
    const { hugePageLimits } = resourcesOf({
      containers: [
        container({ 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' }),
        container({ 'hugepages-2Mi': '2Mi' }),
      ],
    });
    expect(hugePageLimits).toEqual(
      new Map([
        [2n ** 21n, 3n * 2n ** 21n],
        [2n ** 30n, 2n ** 30n],
      ]),
    );
  });
});

test('the cgroup of Burstable pods has the CPU shares of all their requests, and of no other pods', () => {
  const burstable = pod({ containers: [container({ cpu: '250m' })] });
  const guaranteed = pod({ containers: [container(FULL, FULL)] });
  const bestEffort = pod({ containers: [container(undefined)] });
  expect(burstableCPUShares([burstable, burstable, guaranteed, bestEffort])).toBe(512);
  expect(burstableCPUShares([])).toBe(2);
});

test("the cgroup of all pods has the node's allocatable resources as limits", () => {
  expect(kubepodsResources({ cpu: '2', memory: '1Gi', pods: '110' })).toEqual({
    cpuShares: 2048,
    memoryLimitBytes: 2n ** 30n,
  });
  expect(kubepodsResources({})).toEqual({});
  expect(kubepodsResources({ pid: '30k' })).toEqual({ pidsLimit: 30_000 });
});

test.each([
  [0n, 2],
  [1n, 2],
  [100n, 102],
  [999n, 1022],
  [1000n, 1024],
  [256_000n, 262_144],
  [1_000_000n, 262_144],
])('%d thousandths of a CPU are %d shares', (milliCPU, shares) => {
  expect(milliCPUToShares(milliCPU)).toBe(shares);
});

test.each([
  [0n, 100_000, 0],
  [1n, 100_000, 1000],
  [15n, 100_000, 1500],
  [250n, 100_000, 25_000],
  [2000n, 100_000, 200_000],
  [250n, 20_000, 5000],
])('a limit of %d thousandths in a period of %d us is a quota of %d us', (milliCPU, periodUs, quotaUs) => {
  expect(milliCPUToQuotaUs(milliCPU, periodUs)).toBe(quotaUs);
});

test.each([
  [0, 1],
  [2, 1],
  [102, 4],
  [256, 10],
  [512, 20],
  [1024, 39],
  [2048, 79],
  [4096, 157],
  [262_144, 10_000],
  [300_000, 10_000],
])('%d shares are a weight of %d', (shares, weight) => {
  expect(sharesToWeight(shares)).toBe(weight);
});

test('a larger share never has a smaller weight', () => {
  let last = 0;
  for (let shares = 2; shares <= 262_144; shares += 61) {
    expect(sharesToWeight(shares)).toBeGreaterThanOrEqual(last);
    last = sharesToWeight(shares);
  }
});

test.each([
  [1, 2],
  [4, 80],
  [39, 998],
  [100, 2597],
  [10_000, 262_144],
])('a weight of %d stands for %d shares', (weight, shares) => {
  expect(weightToShares(weight)).toBe(shares);
});
