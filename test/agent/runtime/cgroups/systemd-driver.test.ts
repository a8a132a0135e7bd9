/** Slices on a laid-out tree of cgroup v2, with a double of systemd. The real one is in `test/e2e/cri/node/systemd.test.ts`. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { PodCgroups } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import { DBusPeer, done } from '../../../support/dbus-peer.ts';
import { openCgroups, PlainCgroups, podOf } from './cgroup-bed.ts';

const BURSTABLE = 'v2/kubepods.slice/kubepods-burstable.slice';
const POD = `${BURSTABLE}/kubepods-burstable-podu_1.slice`;

let plain: PlainCgroups;
let peer: DBusPeer;
let cgroups: PodCgroups | undefined;
/** The units and properties that systemd was told, in order. */
let told: unknown[];

const open = async (socket = peer.path) =>
  (cgroups = await openCgroups({
    driver: 'systemd',
    mountinfoFile: plain.mountinfoFile,
    systemd: { booted: plain.dir, sockets: { direct: socket, bus: '/none' } },
  }));

beforeEach(async () => {
  told = [];
  plain = new PlainCgroups();
  plain.mountV2('cpu memory pids');
  peer = await new DBusPeer().listen();
  peer
    .on('StartTransientUnit', done)
    .on('StopUnit', done)
    .on('ResetFailedUnit', (call) => call.answer())
    .on('SetUnitProperties', (call) => {
      const [unit, , properties] = call.body as [string, boolean, [string, { value: unknown }][]];
      told.push([unit, Object.fromEntries(properties.map(([name, { value }]) => [name, value]))]);
      call.answer();
    });
});

afterEach(async () => {
  cgroups?.close();
  await peer.close();
  plain.remove();
});

test('systemd gets the limits of each slice, and they are in the files', async () => {
  await (await open()).setUp({ cpu: '2', memory: '1Gi' });
  await cgroups?.prepare(podOf('u-1', { cpu: '250m' }, { cpu: '333m', memory: '64Mi' }));
  expect(told).toEqual([
    ['kubepods.slice', { CPUWeight: 79n, MemoryMax: 2n ** 30n }],
    ['kubepods-besteffort.slice', { CPUWeight: 1n }],
    ['kubepods-burstable.slice', { CPUWeight: 1n }],
    [
      'kubepods-burstable-podu_1.slice',
      {
        CPUWeight: 10n,
        CPUQuotaPeriodUSec: 100_000n,
        CPUQuotaPerSecUSec: 340_000n,
        MemoryMax: 64n * 2n ** 20n,
      },
    ],
    ['kubepods-burstable.slice', { CPUWeight: 10n }],
  ]);
  expect(plain.values(POD)).toMatchObject({ 'cpu.weight': '10', 'cpu.max': '34000 100000' });
  expect(cgroups?.parentOf(podOf('u-1', { cpu: '1' }))).toBe(POD.slice('v2'.length));
});

test('systemd gets all CPUs for the slice of all pods: it would remove a controller that it thinks unused', async () => {
  const kubepods = 'v2/kubepods.slice';
  mkdirSync(plain.path(kubepods));
  writeFileSync(plain.path('v2/cgroup.controllers'), 'cpu cpuset memory\n');
  writeFileSync(plain.path(kubepods, 'cpuset.cpus'), '\n');
  await (await open()).setUp();
  const bytes = Array.from({ length: Math.ceil(cpus().length / 8) }, () => expect.any(Number));
  expect(told).toContainEqual(['kubepods.slice', { AllowedCPUs: bytes }]);
  expect(plain.read(kubepods, 'cpuset.cpus')).toBe(
    readFileSync('/sys/devices/system/cpu/online', 'utf8').trim(),
  );
});

test('the slice of a pod is stopped before its folder is removed', async () => {
  await (await open()).prepare(podOf('u-1', { cpu: '250m' }));
  plain.dropFiles(POD);
  let wasThere = false;
  peer.on('StopUnit', (call) => {
    wasThere = existsSync(plain.path(POD));
    done(call);
  });
  await cgroups?.release('u-1');
  expect([wasThere, existsSync(plain.path(POD))]).toEqual([true, false]);
});

test('while systemd is away a pod has no cgroup, and the next try makes all of them', async () => {
  const socket = `${peer.dir}/later`;
  await expect((await open(socket)).prepare(podOf('u-1', { cpu: '1' }))).rejects.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringContaining(`does not answer: ${socket}: connect ENOENT`),
  });
  expect(existsSync(plain.path(POD))).toBe(false);
  const back = await new DBusPeer().listen(socket);
  back.on('StartTransientUnit', done).on('SetUnitProperties', (call) => call.answer());
  await cgroups?.prepare(podOf('u-1', { cpu: '1' }));
  expect(existsSync(plain.path(POD))).toBe(true);
  await back.close();
});

test('a machine that does not run systemd is refused, and the error says what to change', async () => {
  const systemd = { booted: plain.path('none'), sockets: { direct: peer.path, bus: '/none' } };
  const opened = openCgroups({ driver: 'systemd', mountinfoFile: plain.mountinfoFile, systemd });
  await expect(opened).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message: expect.stringMatching(
      /^the cgroup driver is systemd \(cgroupDriver, .* set cgroupDriver: cgroupfs/,
    ),
  });
});

test('pods in groups of the other driver are found, known to be elsewhere, and removed', async () => {
  const left = 'v2/kubepods/burstable/podold';
  mkdirSync(plain.path(left, 'sandbox'), { recursive: true });
  await open();
  expect(await cgroups?.podsOnDisk(true)).toEqual(['old']);
  expect(cgroups?.isElsewhere('old', 'sandbox')).toBe(true);
  expect(cgroups?.isElsewhere('old', 'other')).toBe(false);
  await cgroups?.prepare(podOf('old', { cpu: '1' }));
  expect(existsSync(plain.path(left))).toBe(false);
  expect(cgroups?.isElsewhere('old', 'sandbox')).toBe(false);
});

test('after the runtime has reported another driver, new groups are made with that', async () => {
  await (await open()).prepare(podOf('u-1', { cpu: '1' }));
  await cgroups?.useDriver('cgroupfs');
  expect(cgroups?.driver).toBe('cgroupfs');
  await cgroups?.prepare(podOf('u-2', { cpu: '1' }));
  expect(existsSync(plain.path('v2/kubepods/burstable/podu-2'))).toBe(true);
  expect([...((await cgroups?.podsOnDisk(true)) ?? [])].sort()).toEqual(['u-1', 'u-2']);
});
