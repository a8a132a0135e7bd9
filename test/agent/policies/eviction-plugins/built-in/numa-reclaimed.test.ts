import { expect, test } from '@jest/globals';
import {
  RECLAIMED_MEMORY,
  RECLAIMED_MILLICPU,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-pods.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeNumaReclaimed,
  numaReclaimedVictims,
  type NumaReclaimedFacts,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/numa-reclaimed.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS;
const GIB = 2 ** 30;
const batch = (name: string, milliCPU: string, node = '0', memory = '0') =>
  qosPod(name, {
    level: 'reclaimed_cores',
    requests: { [RECLAIMED_MILLICPU]: milliCPU, [RECLAIMED_MEMORY]: memory },
    annotations: { 'katalyst.kubewharf.io/numa_bind_result': node },
  });
const node = (id: number, busyTicks: number, totalTicks: number) => ({
  ...{ id, cpus: 10, systemTicks: 0 },
  ...{ busyTicks, totalTicks },
});
const memory = (id: number) => ({
  id,
  totalBytes: 50 * GIB,
  freeBytes: 0,
  minBytes: 0,
  lowBytes: 0,
  inactiveFileBytes: 0,
});

/** 20 CPUs and 100 GiB on two nodes; half of the first one's processor time is used, and 20 GiB of its memory by `uid-web`. */
const facts: NumaReclaimedFacts = {
  allocatable: { cpu: '20', memory: '100Gi' },
  cpus: [node(0, 500, 1000), node(1, 0, 1000)],
  memory: [memory(0), memory(1)],
  bytes: new Map([['uid-web', new Map([[0, 20 * GIB]])]]),
  numaNodes: new Map(),
  stats: new Map(),
};
const before = [node(0, 0, 0), node(1, 0, 0)];
const met = (pods: readonly Pod[], fields: Partial<NumaReclaimedFacts> = {}) =>
  judgeNumaReclaimed({ ...facts, ...fields }, { pods, settings, nowMs: 0 }, before).met;

test('more than five times what a NUMA node can give is hard', () => {
  // 9000 of 10 CPUs without the reserve, less 5000.
  expect(met([batch('a', '20000')])).toBeUndefined();
  expect(met([batch('a', '20001')])).toEqual({
    metType: 'HARD_MET',
    scope: `zone0|${RECLAIMED_MILLICPU}`,
    thresholdValue: 20_000,
    observedValue: 20_001,
    gracePeriodSeconds: 60,
  });
  expect(met([batch('a', '20001', '1')])).toBeUndefined();
  expect(met([batch('a', '45001', '1')])).toMatchObject({ scope: `zone1|${RECLAIMED_MILLICPU}` });
});

test('memory counts too, without the memory of other pods', () => {
  expect(met([batch('a', '1', '0', '125Gi')])).toBeUndefined();
  expect(met([batch('a', '1', '0', '126Gi')])).toMatchObject({
    scope: `zone0|${RECLAIMED_MEMORY}`,
    thresholdValue: 5 * 25 * GIB,
  });
});

test('the usage of the reclaimed pods themselves is available to them', () => {
  const podRef = { name: 'a', namespace: 'default', uid: 'uid-a' };
  const stats = new Map([['uid-a', { podRef, cpu: { usageNanoCores: 2e9 } }]]);
  expect(met([batch('a', '30000')], { stats })).toBeUndefined();
  expect(met([batch('a', '30001')], { stats })).toMatchObject({ thresholdValue: 30_000 });
});

test('only reclaimed pods that are bound to a node are counted: by annotation, or by their CPUs', () => {
  const free = qosPod('free', { level: 'reclaimed_cores', requests: { [RECLAIMED_MILLICPU]: '99999' } });
  const web = qosPod('web', {
    annotations: { 'katalyst.kubewharf.io/numa_bind_result': '0' },
    requests: { [RECLAIMED_MILLICPU]: '99999' },
  });
  expect(met([free, web, batch('odd', '99999', 'both')])).toBeUndefined();
  expect(met([free], { numaNodes: new Map([['uid-free', 1]]) })).toMatchObject({
    scope: `zone1|${RECLAIMED_MILLICPU}`,
  });
});

test('a resource with unknown figures is not compared', () => {
  expect(met([batch('a', '99999', '7')])).toBeUndefined();
  expect(met([batch('a', '99999', '0', '999Gi')], { cpus: [], bytes: new Map() })).toBeUndefined();
});

test('of the pods bound to the node those that request most are evicted', () => {
  const pods = [batch('a', '10'), batch('b', '30'), batch('c', '20'), batch('d', '99', '1')];
  const chosen = (scope: string, topN = 9) =>
    podNames(numaReclaimedVictims(new Map(), { pods, settings, nowMs: 0, scope, topN }, []).pods);
  expect(chosen(`zone0|${RECLAIMED_MILLICPU}`)).toEqual(['b', 'c', 'a']);
  expect(chosen(`zone0|${RECLAIMED_MILLICPU}`, 1)).toEqual(['b']);
  expect(chosen('elsewhere')).toEqual([]);
});
