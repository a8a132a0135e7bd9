import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { PodCgroupsParts } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { warnings } from '../../../support/warnings.ts';
import { openCgroups, PlainCgroups, podOf } from './cgroup-bed.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import { recorderOf } from '../../../support/test-context.ts';

const FULL = { cpu: '500m', memory: '100Mi' };
const guaranteed = podOf('g', FULL, FULL);
const burstable = podOf('b', { cpu: '250m' });
const bestEffort = podOf('e');

let plain: PlainCgroups;
const open = (parts: Partial<PodCgroupsParts> = {}, context?: Partial<AgentContext>) =>
  openCgroups({ mountinfoFile: plain.mountinfoFile, ...parts }, context);
const opened = async (parts?: Partial<PodCgroupsParts>, context?: Partial<AgentContext>) => {
  const cgroups = await open(parts, context);
  await cgroups.setUp();
  return cgroups;
};

beforeEach(() => {
  plain = new PlainCgroups();
});

afterEach(() => plain.remove());

describe('on cgroup v2', () => {
  beforeEach(() => plain.mountV2('cpuset cpu io memory pids rdma'));

  test('the cgroups above the pods enable the controllers, and have their CPU weights', async () => {
    const cgroups = await open();
    await cgroups.setUp({ cpu: '2', memory: '1Gi' });
    expect(cgroups.version).toBe(2);
    const enabled = { 'cgroup.subtree_control': '+cpu +memory +pids +cpuset +io' };
    expect(plain.values('v2')).toMatchObject(enabled);
    expect(plain.values('v2/kubepods')).toEqual({
      ...enabled,
      'cpu.weight': '79',
      'memory.max': '1073741824',
    });
    expect(plain.values('v2/kubepods/burstable')).toEqual({ ...enabled, 'cpu.weight': '1' });
    expect(plain.values('v2/kubepods/besteffort')).toEqual({ ...enabled, 'cpu.weight': '1' });
  });

  test('a memory limit on all pods that is below what they use is not set before they use less: the kernel would kill them', async () => {
    mkdirSync(plain.path('v2/kubepods'));
    writeFileSync(plain.path('v2/kubepods/memory.stat'), 'inactive_file 1000\n');
    writeFileSync(plain.path('v2/kubepods/memory.current'), '3001\n');
    const told: string[] = [];
    const recorder = recorderOf({ nodeEvent: (_, reason) => void told.push(reason) });
    const cgroups = await open({}, { recorder });
    await cgroups.setUp({ cpu: '2', memory: '2000' });
    expect(plain.values('v2/kubepods')).not.toHaveProperty(['memory.max']);
    expect(plain.read('v2/kubepods/cpu.weight')).toBe('79');
    writeFileSync(plain.path('v2/kubepods/memory.current'), '3000\n');
    await cgroups.updateQoS([]);
    expect(plain.read('v2/kubepods/memory.max')).toBe('2000');
    expect(told).toEqual(['FailedNodeAllocatableEnforcement', 'NodeAllocatableEnforced']);
  });

  test('if process IDs are reserved, kubepods has the limit of the others', async () => {
    const cgroups = await open({ reservesPIDs: true });
    await cgroups.setUp({ pid: '30000' });
    expect(plain.values('v2/kubepods')).toMatchObject({ 'pids.max': '30000' });
  });

  test('if no process IDs are reserved, kubepods needs no controller for processes', async () => {
    const cgroups = await open();
    await cgroups.setUp({ pid: '30000' });
    expect(plain.values('v2/kubepods')).not.toHaveProperty('pids.max');
  });

  test('the cgroup of a pod is below that of its QoS class, and has its limits', async () => {
    const cgroups = await opened({ podPidsLimit: 100 });
    for (const pod of [guaranteed, burstable, bestEffort]) await cgroups.ensurePod(pod);
    expect([guaranteed, burstable, bestEffort].map((pod) => cgroups.parentOf(pod))).toEqual([
      '/kubepods/podg',
      '/kubepods/burstable/podb',
      '/kubepods/besteffort/pode',
    ]);
    expect(plain.values('v2/kubepods/podg')).toEqual({
      'cpu.weight': '20',
      'cpu.max': '50000 100000',
      'memory.max': '104857600',
      'pids.max': '100',
    });
    expect(plain.values('v2/kubepods/burstable/podb')).toEqual({ 'cpu.weight': '10', 'pids.max': '100' });
    expect(plain.values('v2/kubepods/besteffort/pode')).toEqual({ 'cpu.weight': '1', 'pids.max': '100' });
  });

  test('the CPU weight of the burstable cgroup follows the pods that are prepared and not released', async () => {
    const cgroups = await opened();
    const weight = () => plain.values('v2/kubepods/burstable')['cpu.weight'];
    await cgroups.prepare(burstable);
    expect(weight()).toBe('10');
    await cgroups.release('unknown');
    expect(weight()).toBe('10');
    plain.dropFiles('v2/kubepods/burstable/podb');
    await cgroups.release('b');
    expect(weight()).toBe('1');
    expect(existsSync(plain.path('v2/kubepods/burstable/podb'))).toBe(false);
  });

  test('kubepods is created in cgroupRoot, and controllers are enabled in its parents', async () => {
    mkdirSync(plain.path('v2/a/b'), { recursive: true });
    const cgroups = await opened({ cgroupRoot: '/a/b' });
    await cgroups.ensurePod(burstable);
    expect(cgroups.parentOf(burstable)).toBe('/a/b/kubepods/burstable/podb');
    expect(plain.values('v2/a')).toHaveProperty(['cgroup.subtree_control']);
    expect(plain.values('v2/a/b/kubepods/burstable/podb')).toEqual({ 'cpu.weight': '10' });
  });

  test('only changed values of a pod are written again', async () => {
    const cgroups = await opened();
    await cgroups.ensurePod(burstable);
    writeFileSync(plain.path('v2/kubepods/burstable/podb/cpu.weight'), 'untouched');
    await cgroups.ensurePod(podOf('b', { cpu: '250m' }));
    expect(plain.values('v2/kubepods/burstable/podb')).toEqual({ 'cpu.weight': 'untouched' });
    await cgroups.ensurePod(podOf('b', { cpu: '500m' }));
    expect(plain.values('v2/kubepods/burstable/podb')).toEqual({ 'cpu.weight': '20' });
  });

  test('what a resize has written stays while it goes on; after an abort the pod gets its former values', async () => {
    const cgroups = await opened();
    await cgroups.ensurePod(burstable);
    const weight = () => plain.read('v2/kubepods/burstable/podb/cpu.weight');
    await cgroups.resize(burstable, { cpuShares: 1024 });
    await cgroups.ensurePod(burstable, true);
    expect(weight()).toBe('39');
    await cgroups.ensurePod(burstable);
    expect(weight()).toBe('10');
  });

  test('memory that a pod uses is not limited below that: the kernel would kill', async () => {
    const cgroups = await opened();
    const of = (memory: string) => podOf('m', {}, { cpu: '1', memory });
    await cgroups.ensurePod(of('64Mi'));
    const file = (name: string) => plain.path('v2/kubepods/burstable/podm', name);
    writeFileSync(file('memory.current'), String(48 * 2 ** 20));
    writeFileSync(file('memory.stat'), 'inactive_file 0\n');
    await cgroups.ensurePod(of('32Mi'));
    expect(plain.read('v2/kubepods/burstable/podm/memory.max')).toBe(String(64 * 2 ** 20));
    writeFileSync(file('memory.current'), String(16 * 2 ** 20));
    await cgroups.ensurePod(of('32Mi'));
    expect(plain.read('v2/kubepods/burstable/podm/memory.max')).toBe(String(32 * 2 ** 20));
  });

  test('a cgroup that another process removed is created again, with the cgroups above it', async () => {
    const cgroups = await opened();
    await cgroups.ensurePod(burstable);
    await cgroups.updateQoS([burstable]);
    rmSync(plain.path('v2/kubepods'), { recursive: true });
    await cgroups.ensurePod(burstable);
    expect(plain.values('v2/kubepods/burstable/podb')).toEqual({ 'cpu.weight': '10' });
    expect(plain.read('v2/kubepods/burstable/cpu.weight')).toBe('10');
    expect(plain.read('v2/kubepods/besteffort/cpu.weight')).toBe('1');
  });

  test('the burstable cgroup follows the requests of its pods, and is written only if they change', async () => {
    const cgroups = await opened();
    await cgroups.updateQoS([burstable, burstable, guaranteed, bestEffort]);
    expect(plain.read('v2/kubepods/burstable/cpu.weight')).toBe('20');
    writeFileSync(plain.path('v2/kubepods/burstable/cpu.weight'), 'untouched');
    await cgroups.updateQoS([burstable, burstable]);
    expect(plain.read('v2/kubepods/burstable/cpu.weight')).toBe('untouched');
    await cgroups.updateQoS([]);
    expect(plain.read('v2/kubepods/burstable/cpu.weight')).toBe('1');
  });

  test('after a restart the agent does not change the burstable cgroup until it knows the pods', async () => {
    await (await opened()).updateQoS([burstable]);
    const cgroups = await opened();
    expect(plain.read('v2/kubepods/burstable/cpu.weight')).toBe('10');
    await cgroups.updateQoS([]);
    expect(plain.read('v2/kubepods/burstable/cpu.weight')).toBe('1');
  });

  test('the cgroups of pods are found, and removed by another agent than the one that created them', async () => {
    const before = await opened();
    for (const pod of [guaranteed, burstable, bestEffort]) await before.ensurePod(pod);
    const cgroups = await opened();
    expect([...(await cgroups.podsOnDisk(true))].sort()).toEqual(['b', 'e', 'g']);
    mkdirSync(plain.path('v2/kubepods/burstable/podb/container/below'), { recursive: true });
    for (const path of ['podg', 'burstable/podb', 'besteffort/pode']) plain.dropFiles('v2/kubepods', path);
    for (const uid of ['b', 'e', 'g', 'unknown']) await cgroups.removePod(uid);
    expect(await cgroups.podsOnDisk(true)).toEqual([]);
    expect(existsSync(plain.path('v2/kubepods/burstable'))).toBe(true);
  });

  test('a file that cannot be written fails the pod and is named in the error', async () => {
    const cgroups = await opened();
    mkdirSync(plain.path('v2/kubepods/burstable/podb/cpu.weight'), { recursive: true });
    await expect(cgroups.ensurePod(burstable)).rejects.toMatchObject({
      kind: 'Internal',
      message: expect.stringMatching(/burstable\/podb\/cpu\.weight cannot be set to "10": EISDIR/),
    });
  });

  test('a limit that the kernel does not have fails no pod, and leads to one warning', async () => {
    const { logger, messages } = warnings();
    const cgroups = await opened({}, { logger });
    for (const uid of ['one', 'two']) {
      mkdirSync(plain.path(`v2/kubepods/pod${uid}`));
      // The file is missing and cannot be created, like a file that the kernel does not have.
      symlinkSync('/no/such/folder/file', plain.path(`v2/kubepods/pod${uid}/cpu.max`));
      await cgroups.ensurePod(podOf(uid, FULL, FULL));
      expect(plain.read(`v2/kubepods/pod${uid}/memory.max`)).toBe('104857600');
    }
    expect(messages).toEqual(['This kernel has no cpu.max: pods run without that limit']);
  });

  test('a parent cgroup that cannot enable a controller is named, with the likely cause', async () => {
    mkdirSync(plain.path('v2/cgroup.subtree_control'));
    await expect((await open()).setUp()).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringContaining(
        'cgroup.subtree_control: the controllers cpu, memory cannot be enabled: EISDIR',
      ),
    });
  });
});

test('huge pages of pods are limited if there is a controller for them, used and reserved ones, and those of higher groups are not', async () => {
  plain.mountV2('cpu memory hugetlb');
  mkdirSync(plain.path('v2/kubepods'));
  const files = ['hugetlb.1GB.max', 'hugetlb.2MB.max', 'hugetlb.2MB.rsvd.max'];
  // From an agent before, with other limits.
  for (const file of files) writeFileSync(plain.path(`v2/kubepods/${file}`), '0');
  const cgroups = await opened();
  await cgroups.ensurePod(podOf('h', { 'hugepages-2Mi': '4Mi' }, { 'hugepages-2Mi': '4Mi' }));
  expect(plain.values('v2/kubepods/besteffort/podh')).toEqual({
    'cpu.weight': '1',
    'hugetlb.2MB.max': '4194304',
    'hugetlb.2MB.rsvd.max': '4194304',
    'hugetlb.1GB.max': '0',
  });
  const unbounded = Object.fromEntries(files.map((file) => [file, '4611686018427387904']));
  for (const group of ['kubepods', 'kubepods/burstable', 'kubepods/besteffort'])
    expect(plain.values(`v2/${group}`)).toMatchObject(unbounded);
});

describe('with the feature MemoryQoS', () => {
  const tiered: Partial<PodCgroupsParts> = {
    memoryQoS: { throttlingFactor: 0.9, reservationPolicy: 'TieredReservation' },
  };
  const firm = podOf('f', FULL, FULL);
  const soft = podOf('s', { memory: '50Mi' });
  const kept = () => [
    plain.values('v2/kubepods')['memory.min'],
    plain.values('v2/kubepods/burstable')['memory.low'],
  ];

  beforeEach(() => plain.mountV2('cpu memory'));

  test('the kernel keeps the memory that pods request, in their groups and in those above', async () => {
    const measurements = new RecordedMeasurements();
    const cgroups = await opened(tiered, { measurements });
    for (const pod of [firm, soft, bestEffort]) await cgroups.prepare(pod);
    expect(plain.values('v2/kubepods/podf')).toMatchObject({ 'memory.min': '104857600' });
    expect(plain.values('v2/kubepods/podf')).not.toHaveProperty(['memory.low']);
    expect(plain.values('v2/kubepods/burstable/pods')).toMatchObject({ 'memory.low': '52428800' });
    expect(plain.values('v2/kubepods/besteffort/pode')).toEqual({ 'cpu.weight': '1' });
    expect(kept()).toEqual(['157286400', '52428800']);
    expect(measurements.kept).toEqual({ guaranteedBytes: 104_857_600n, burstableBytes: 52_428_800n });
    plain.dropFiles('v2/kubepods/podf');
    await cgroups.release('f');
    expect(kept()).toEqual(['52428800', '52428800']);
  });

  test('the kernel keeps for daemons the memory that is reserved for their cgroup', async () => {
    mkdirSync(plain.path('v2/daemons'));
    const limits = { cpu: '1', memory: '64Mi' };
    const reserved = [
      { title: 'kube reserved', field: 'kubeReservedCgroup', name: '/daemons', limits } as const,
    ];
    await opened({ ...tiered, reserved });
    expect(plain.values('v2/daemons')).toEqual({
      'cpu.weight': '39',
      'memory.max': '67108864',
      'memory.min': '67108864',
    });
    const { 'memory.min': none, ...rest } = plain.values('v2/daemons');
    expect(none).toBeDefined();
    plain.dropFiles('v2/daemons');
    await opened({ reserved });
    expect(plain.values('v2/daemons')).toEqual(rest);
  });

  test('groups that another process has removed get what follows from all pods again', async () => {
    const cgroups = await opened(tiered);
    await cgroups.prepare(firm);
    rmSync(plain.path('v2/kubepods'), { recursive: true });
    await cgroups.ensurePod(firm);
    expect(kept()).toEqual(['104857600', '0']);
  });

  test('the policy None takes back what was kept before', async () => {
    await (await opened(tiered)).prepare(firm);
    expect(kept()).toEqual(['104857600', '0']);
    const cgroups = await opened({ memoryQoS: { throttlingFactor: 0.9, reservationPolicy: 'None' } });
    await cgroups.prepare(soft);
    expect(kept()).toEqual(['0', '0']);
    expect(plain.values('v2/kubepods/burstable/pods')).not.toHaveProperty(['memory.low']);
  });

  test('without the feature no memory is kept by the kernel', async () => {
    const measurements = new RecordedMeasurements();
    const cgroups = await opened({}, { measurements });
    for (const pod of [firm, soft]) await cgroups.prepare(pod);
    expect(kept()).toEqual([undefined, undefined]);
    expect(measurements.kept).toBeUndefined();
  });
});

test('on cgroup v1 the feature MemoryQoS has no effect', async () => {
  plain.mountV1('cpu', 'memory');
  const measurements = new RecordedMeasurements();
  const memoryQoS = { throttlingFactor: 0.9, reservationPolicy: 'TieredReservation' } as const;
  const cgroups = await opened({ memoryQoS }, { measurements });
  await cgroups.prepare(guaranteed);
  expect(Object.keys(plain.values('memory/kubepods/podg'))).toEqual(['memory.limit_in_bytes']);
  expect(measurements.kept).toBeUndefined();
});

describe('an unusable setup is refused at once:', () => {
  const refusal = (text: string) =>
    expect.objectContaining({
      kind: 'FailedPrecondition',
      message: expect.stringContaining(text),
    }) as object;

  test('no cgroups at all', async () => {
    writeFileSync(plain.mountinfoFile, '23 1 254:0 / / rw - ext4 /dev/vda rw\n');
    await expect(open()).rejects.toEqual(refusal('no cgroup file system is mounted'));
  });

  test('cgroup v2 without a required controller', async () => {
    plain.mountV2('cpu pids');
    await expect(open()).rejects.toEqual(refusal('cgroup v2 has no controller memory (found: cpu, pids)'));
    await expect(open()).rejects.toEqual(refusal('cgroup_enable=memory'));
  });

  test('no pids controller, if processes are to be limited', async () => {
    plain.mountV1('cpu,cpuacct', 'memory');
    await expect(open({ podPidsLimit: 100 })).rejects.toEqual(refusal('cgroup v1 has no controller pids'));
    await expect(open()).resolves.toMatchObject({ version: 1 });
  });

  test('a cgroupRoot that does not exist', async () => {
    plain.mountV2('cpu memory');
    await expect(open({ cgroupRoot: '/mine' })).rejects.toEqual(refusal('cgroupRoot /mine does not exist'));
  });
});

test('without cgroupsPerQOS no controller is required and no cgroup is created', async () => {
  writeFileSync(plain.mountinfoFile, '');
  const cgroups = await opened({ cgroupsPerQOS: false });
  await cgroups.ensurePod(burstable);
  await cgroups.updateQoS([burstable]);
  await cgroups.removePod('b');
  expect(await cgroups.podsOnDisk(true)).toEqual([]);
  expect(cgroups.version).toBeUndefined();
  expect(cgroups.parentOf(burstable)).toBe('');
  expect((await open({ cgroupsPerQOS: false, cgroupRoot: '/mine/' })).parentOf(burstable)).toBe('/mine');
});

test('without cgroupsPerQOS the cgroup version of the machine is known, too', async () => {
  plain.mountV2('');
  expect((await open({ cgroupsPerQOS: false })).version).toBe(2);
});
