import { describe, expect, test } from '@jest/globals';
import {
  type ContainerResourceFacts,
  containerResources,
  oomScoreAdj,
  swapLimit,
} from '../../../../src/agent/policies/cri/linux-resources.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../../src/agent/policies/pod/pod-kinds.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import type { SwapBehavior } from '../../../../src/types/node-settings.ts';
import { testPod } from '../../../support/pods.ts';

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

const CAPACITY_BYTES = 1000 * 2 ** 20;

const asking = (name: string, memory?: string, more: Partial<Container> = {}): Container => ({
  name,
  resources: { requests: { cpu: '1m', ...(memory && { memory }) } },
  ...more,
});

function podOf(spec: Partial<Pod['spec']>, annotations?: Record<string, string>): Pod {
  const base = testPod({ ...(annotations && { annotations }) });
  return { ...base, spec: { ...base.spec, ...spec } };
}

/** The score of the container of that name. */
function scoreOf(name: string, spec: Partial<Pod['spec']>): number {
  const pod = podOf(spec);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = all.find((candidate) => candidate.name === name);
  if (!container) throw new Error(`no container ${name}`);
  return oomScoreAdj(pod, container, CAPACITY_BYTES);
}

describe('the class', () => {
  test('Guaranteed containers are killed last, BestEffort ones first', () => {
    const limits = { cpu: '1', memory: '10Mi' };
    const guaranteed: Container = { name: 'a', resources: { limits, requests: limits } };
    expect(scoreOf('a', { containers: [guaranteed] })).toBe(-997);
    expect(scoreOf('a', { containers: [{ name: 'a' }] })).toBe(1000);
  });

  test('a node-critical pod is killed last, whatever its class', () => {
    const file = { 'kubernetes.io/config.source': 'file' };
    const containers: Container[] = [{ name: 'a' }];
    const critical = podOf({ containers, priorityClassName: 'system-node-critical' }, file);
    expect(oomScoreAdj(critical, { name: 'a' }, CAPACITY_BYTES)).toBe(-997);
    const ordinary = podOf({ containers, priorityClassName: 'system-cluster-critical' }, file);
    expect(oomScoreAdj(ordinary, { name: 'a' }, CAPACITY_BYTES)).toBe(1000);
  });
});

describe('burstable containers', () => {
  test.each([
    [undefined, 999],
    ['1', 999],
    ['1Mi', 999],
    ['10Mi', 990],
    ['105Mi', 895],
    ['999Mi', 3],
    ['5000Mi', 3],
  ])('that request %s of 1000Mi have %d', (memory, score) => {
    expect(scoreOf('a', { containers: [asking('a', memory)] })).toBe(score);
  });

  test('share what the pod itself requests beyond them', () => {
    const containers = [asking('a', '100Mi'), asking('b')];
    const spec = { containers, resources: { requests: { memory: '300Mi' } } };
    expect([scoreOf('a', spec), scoreOf('b', spec)]).toEqual([800, 900]);
  });

  test('have the same score if the pod itself requests only CPU', () => {
    const spec = { containers: [asking('a', '100Mi')], resources: { requests: { cpu: '1', memory: '0' } } };
    expect(scoreOf('a', spec)).toBe(900);
  });
});

describe('a sidecar', () => {
  const always = { restartPolicy: 'Always' };

  test('is killed no sooner than the regular container with the least request', () => {
    const containers = [asking('a', '300Mi'), asking('b', '200Mi')];
    const initContainers = [asking('small', '10Mi', always), asking('large', '400Mi', always)];
    const spec = { containers, initContainers };
    expect([scoreOf('small', spec), scoreOf('large', spec)]).toEqual([800, 600]);
  });

  test('an init container that is no sidecar has its own score', () => {
    const spec = { containers: [asking('a', '300Mi')], initContainers: [asking('init', '10Mi')] };
    expect(scoreOf('init', spec)).toBe(990);
  });
});

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
