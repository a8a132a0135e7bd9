/** Pods in slices of systemd, whose containers are in scopes. */
import { mkdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { container, MIB, SANDBOX, StatsBed } from './stats-bed.ts';

const SLICE = 'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poduid.slice';
const SCOPE = `${SLICE}/cri-containerd-id.scope`;
const SYSTEMD = { cgroupDriver: () => 'systemd' as const };
const ONLY = { onlyCPUAndMemory: true };

let bed: StatsBed;
const use = (group: string, bytes: number) => {
  bed.write(`memory/${group}/memory.usage_in_bytes`, `${bytes}\n`);
  bed.write(`memory/${group}/memory.limit_in_bytes`, `${100 * MIB}\n`);
  bed.figures(`memory/${group}/memory.stat`, { total_rss: bytes, total_inactive_file: 0 });
};
const usageOf = async (options: Parameters<StatsBed['open']>[0]) => {
  const [pod] = (await bed.open(options).summary(ONLY)).pods;
  return [pod, pod?.containers?.[0]].map((stats) => stats?.memory?.usageBytes);
};

beforeEach(() => {
  bed = new StatsBed();
  bed.cgroups.mountV1('memory', 'cpu', 'cpuacct');
  bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 0, SwapFree: 0 });
  bed.runs({ sandboxes: [SANDBOX], containers: [{ ...container('id', 'main'), image: 'web:1' }] });
});
afterEach(() => bed.cleanUp());

test('figures are read from the slice of a pod, and the scopes of its containers', async () => {
  use('kubepods.slice', 40 * MIB);
  use(SLICE, 20 * MIB);
  use(SCOPE, 10 * MIB);
  expect(await usageOf(SYSTEMD)).toEqual([20 * MIB, 10 * MIB]);
  const provider = bed.open(SYSTEMD);
  const [pods] = (await provider.summary(ONLY)).node.systemContainers ?? [];
  expect(pods?.memory?.usageBytes).toBe(40 * MIB);
  expect(provider.memoryAvailable('allocatableMemory.available')?.availableBytes).toBe(60 * MIB);
});

test('a scope is found by its ID, whatever the runtime puts before that', async () => {
  mkdirSync(bed.cgroups.path(`memory/${SLICE}/crio-conmon-other.scope`), { recursive: true });
  use(SLICE, 20 * MIB);
  use(`${SLICE}/crio-id.scope`, 10 * MIB);
  expect(await usageOf(SYSTEMD)).toEqual([20 * MIB, 10 * MIB]);
});

test('pods that an agent with the other driver has left have their figures as well', async () => {
  use('kubepods/burstable/poduid', 20 * MIB);
  use('kubepods/burstable/poduid/id', 10 * MIB);
  expect(await usageOf(SYSTEMD)).toEqual([20 * MIB, 10 * MIB]);
  use(SLICE, 2 * MIB);
  use(SCOPE, MIB);
  expect(await usageOf(SYSTEMD)).toEqual([2 * MIB, MIB]);
  expect(await usageOf({})).toEqual([20 * MIB, 10 * MIB]);
});

test('metrics of cAdvisor name the slices and scopes', async () => {
  use(SLICE, 20 * MIB);
  use(SCOPE, 10 * MIB);
  const ids = (await bed.open(SYSTEMD).groupFigures()).map(({ id }) => id);
  const sandbox = `/${SLICE}/cri-containerd-sandbox.scope`;
  const above = ['', '/kubepods-burstable.slice', '/kubepods-besteffort.slice'];
  expect(ids.toSorted()).toEqual(
    ['/', `/${SLICE}`, `/${SCOPE}`, sandbox, ...above.map((group) => `/kubepods.slice${group}`)].toSorted(),
  );
});
