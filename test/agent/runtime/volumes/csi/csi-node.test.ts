/** What is asked of a CSI driver for a pod, with a real socket and real mounts. test/e2e/cluster/csi.test.ts has pods and an API server. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { isUncertain } from '../../../../../src/agent/policies/volumes/csi-source.ts';
import { CsiDriver } from '../../../../../src/agent/runtime/volumes/csi/csi-driver.ts';
import type { VolumeManager } from '../../../../../src/agent/runtime/volumes/volume-manager.ts';
import { podPaths } from '../../../../../src/agent/runtime/volumes/pod-paths.ts';
import { kindOfCode } from '../../../../../src/system/grpc/grpc-codes.ts';
import { type CsiCall, mountsOf, TestCsiDriver } from '../../../../support/test-csi-driver.ts';
import { recorderOf } from '../../../../support/test-context.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { CLAIMED } from '../../../policies/volumes/claims/claims.ts';
import { describeAsRoot, podWith, VolumeBed } from '../bed.ts';
import { CSI_DRIVER, csiManagerOn, unstaged } from '../csi-managers.ts';
import { mountAll, removeAll } from '../volume-managers.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';
import { systemClock } from '../../../../../src/system/timer.ts';

const POD = podWith([CLAIMED], { securityContext: { fsGroup: 2345 } });

let bed: VolumeBed;
let driver: TestCsiDriver;
let events: string[];
let opened: ReturnType<typeof csiManagerOn>[];

beforeEach(() => {
  bed = new VolumeBed();
  mkdirSync(bed.rootDir);
  events = [];
  opened = [];
});
afterEach(() => {
  for (const { close } of opened) close();
  driver.kill();
  bed.remove();
  expect(driver.violations).toEqual([]);
});

async function open(
  own: Parameters<typeof csiManagerOn>[2] = {},
  capabilities: ConstructorParameters<typeof TestCsiDriver>[0]['capabilities'] = ['STAGE_UNSTAGE_VOLUME'],
) {
  const [registryDir, storage] = [join(bed.dir, 'plugins'), join(bed.dir, 'storage')];
  driver = new TestCsiDriver({ name: CSI_DRIVER, registryDir, storage, capabilities });
  await driver.listen();
  return again(own);
}

/** Another agent. */
function again(own: Parameters<typeof csiManagerOn>[2] = {}) {
  const recorder = recorderOf({ event: (_pod, _type, _reason, message) => void events.push(message) });
  const one = csiManagerOn(bed.rootDir, driver.endpoint, { recorder, ...own });
  opened.push(one);
  return one;
}

const target = () => join(bed.podDir(), 'volumes/kubernetes.io~csi/pv-1/mount');

describeAsRoot('a volume of a CSI driver', () => {
  test('is published again at each sync with a new token, if its driver wants that; a failure leaves the mount, and no pod waits', async () => {
    let tokens = 0;
    const { manager } = await open({
      spec: { requiresRepublish: true, tokenRequests: [{ audience: 'vault' }] },
      token: () => Promise.resolve(`token-${++tokens}`),
    });
    const tokensGiven = () =>
      driver.published.map(
        ({ volumeContext }) =>
          (
            JSON.parse(volumeContext['csi.storage.k8s.io/serviceAccount.tokens'] ?? '{}') as Record<
              string,
              { token: string }
            >
          ).vault?.token,
      );
    await mountAll(manager, POD);
    await mountAll(manager, POD);
    await waitFor(() => driver.published.length === 2, { what: 'the volume to be published again' });
    expect(tokensGiven()).toEqual(['token-1', 'token-2']);
    driver.faults.set('NodePublishVolume', { kind: 'Internal', words: 'no vault' });
    await waitFor(
      async () => {
        await mountAll(manager, POD);
        return events.some((message) => message.includes('no vault'));
      },
      { what: 'an event' },
    );
    expect(mountsOf(target())).toBe(1);
    driver.faults.set('NodePublishVolume', 'never');
    const before = driver.published.length;
    await waitFor(
      async () => {
        await mountAll(manager, POD);
        return driver.published.length > before;
      },
      { what: 'a call that hangs' },
    );
    await mountAll(manager, POD);
    expect(driver.published).toHaveLength(before + 1);
    expect(driver.count('NodeStageVolume')).toBe(1);
  });

  test('is published once where its driver does not want it again', async () => {
    const { manager } = await open();
    for (let sync = 0; sync < 3; sync++) await mountAll(manager, POD);
    expect(driver.calls).toEqual(['NodeStageVolume disk-1', 'NodePublishVolume disk-1']);
  });

  test('gets the group of its pod when it is staged and published, if its driver gives files to groups', async () => {
    const { manager } = await open({}, ['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP']);
    await mountAll(manager, POD);
    const groups = [...driver.staged, ...driver.published].map(
      ({ capability }) => capability.mount?.volumeMountGroup,
    );
    expect(groups).toEqual(['2345', '2345']);
  });

  const LABELLED = {
    spec: { seLinuxMount: true },
    accessModes: ['ReadWriteOncePod'],
    filesLabel: 'system_u:object_r:container_file_t:s0',
  };
  const labelledPod = (more: object = {}) =>
    podWith([CLAIMED], { securityContext: { seLinuxOptions: { level: 's0:c7,c9' }, ...more } });
  const relabelled = async (manager: VolumeManager, pod: Pod) => {
    const [container] = pod.spec.containers;
    const mounts = await manager.mounts.of({ pod, container: container!, env: new Map() });
    return mounts.map(({ selinuxRelabel }) => selinuxRelabel);
  };

  test('is mounted with the SELinux label of its pod, and the runtime labels nothing, also with another agent', async () => {
    const { manager } = await open(LABELLED);
    await mountAll(manager, labelledPod());
    const flags = [...driver.staged, ...driver.published].map(
      ({ capability }) => capability.mount?.mountFlags,
    );
    const label = 'context="system_u:object_r:container_file_t:s0:c7,c9"';
    expect(flags).toEqual([[label], [label]]);
    expect(await relabelled(manager, labelledPod())).toEqual([false]);
    const later = again(LABELLED);
    await mountAll(later.manager, labelledPod());
    expect(await relabelled(later.manager, labelledPod())).toEqual([false]);
  });

  test('is mounted without a label where SELinux is off, and the runtime may label its files', async () => {
    const { manager } = await open({ ...LABELLED, filesLabel: undefined });
    await mountAll(manager, labelledPod());
    expect(driver.published.map(({ capability }) => capability.mount?.mountFlags)).toEqual([[]]);
    expect(await relabelled(manager, labelledPod())).toEqual([true]);
  });

  test('says what its pod waits for while its driver publishes and unpublishes it', async () => {
    const { manager, csi } = await open();
    const told: string[] = [];
    const step = () => {
      const wait = csi.waitOf('u-1');
      return wait && 'step' in wait ? wait.step : 'nothing';
    };
    driver.onCall = (call) => void told.push(`${call}: ${step()}`);
    await mountAll(manager, POD);
    await removeAll(manager, POD);
    await unstaged(bed.rootDir);
    expect(told).toEqual([
      'NodeStageVolume: staged',
      'NodePublishVolume: published',
      'NodeUnpublishVolume: unpublished',
      'NodeUnstageVolume: nothing',
    ]);
    expect(csi.waitOf('u-1')).toBeUndefined();
  });

  const GROWN = {
    metadata: { name: 'orders', namespace: 'default', uid: 'c-1', resourceVersion: '7' },
    spec: { volumeName: 'pv-1' },
    status: {
      phase: 'Bound',
      capacity: { storage: '1Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
    },
  };

  test('whose PersistentVolume has grown is expanded by its driver, when it is published and later, and the claim has the result', async () => {
    const patches: object[] = [];
    const claim = structuredClone(GROWN);
    claim.status.capacity.storage = '2Gi';
    const { manager } = await open(
      {
        claim,
        capacity: { storage: '2Gi' },
        patchClaimStatus: (found, patch) => {
          patches.push(patch);
          return Promise.resolve(found);
        },
      },
      ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'],
    );
    await mountAll(manager, POD);
    expect(driver.expanded).toEqual([]);
    claim.status.capacity.storage = '1Gi';
    await mountAll(manager, POD);
    await waitFor(() => patches.length === 2, { what: 'the claim to be told' });
    expect(driver.expanded).toMatchObject([
      { volumeId: 'disk-1', volumePath: target(), range: { requiredBytes: 2 ** 31 } },
    ]);
    const metadata = { resourceVersion: '7' };
    expect(patches).toEqual([
      { metadata, status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } } },
      {
        metadata,
        status: {
          capacity: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: null },
          conditions: [{ type: 'FileSystemResizePending', $patch: 'delete' }],
        },
      },
    ]);
    expect(driver.count('NodePublishVolume')).toBe(1);
    expect(events).toEqual(['MountVolume.NodeExpandVolume succeeded for volume "pv-1" node-1']);
  });

  test.each([
    ['OutOfRange', 'NodeResizeInfeasible', true],
    ['Internal', 'NodeResizeInProgress', true],
    ['Unavailable', 'NodeResizeInProgress', false],
  ] as const)('that its driver cannot grow (%s) is kept by its pod as it is', async (kind, state, isTold) => {
    const patches: string[] = [];
    const { manager } = await open(
      {
        claim: GROWN,
        capacity: { storage: '2Gi' },
        patchClaimStatus: (found, patch) => {
          patches.push(JSON.stringify(patch));
          return Promise.resolve(found);
        },
      },
      ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'],
    );
    driver.faults.set('NodeExpandVolume', { kind, words: 'too large' });
    await mountAll(manager, POD);
    expect(patches.findLast((patch) => patch.includes('allocatedResourceStatuses'))).toContain(state);
    expect(patches.some((patch) => patch.includes('NodeResizeError') && patch.includes('too large'))).toBe(
      isTold,
    );
    expect(events.join()).toContain('NodeExpandVolume: too large');
    expect(mountsOf(target())).toBe(1);
  });

  test('has the figures of its driver, which is asked once a minute, and none of a driver that has none', async () => {
    const { manager, csi } = await open({}, ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS']);
    await mountAll(manager, POD);
    const volume = { driver: CSI_DRIVER, handle: 'disk-1' };
    const of = { availableBytes: 6, capacityBytes: 7, usedBytes: 1, inodes: 0, inodesFree: 0, inodesUsed: 0 };
    for (let reading = 0; reading < 3; reading++)
      expect(await csi.stats.of(volume, target())).toMatchObject(of);
    expect(driver.calls.filter((call) => call.startsWith('NodeGetVolumeStats'))).toHaveLength(1);
    const silent = new CsiDriver(
      { clock: systemClock },
      { name: 'silent.csi.test', endpoint: driver.endpoint, version: '1.0.0' },
    );
    silent.capabilities = () => Promise.resolve(new Set());
    csi.drivers.register(silent);
    expect(await csi.stats.of({ ...volume, driver: 'silent.csi.test' }, '/elsewhere')).toBeUndefined();
  });

  test.each<CsiCall>(['NodeStageVolume', 'NodePublishVolume'])(
    'is undone after %s has failed for any reason but one by which nothing can have been done',
    async (call) => {
      const { manager } = await open();
      const undo = call === 'NodeStageVolume' ? 'NodeUnstageVolume' : 'NodeUnpublishVolume';
      for (const kind of Array.from({ length: 16 }, (_, index) => kindOfCode(index + 1))) {
        driver.calls.length = 0;
        driver.faults.set(call, { kind, words: 'refused' });
        await expect(mountAll(manager, POD)).rejects.toMatchObject({
          message: expect.stringContaining('refused'),
        });
        await removeAll(manager, POD);
        await unstaged(bed.rootDir);
        expect([kind, driver.count(undo)]).toEqual([kind, isUncertain(kind) ? 1 : 0]);
        expect(bed.mounts()).toEqual([]);
      }
    },
  );

  test('of a driver that is there is unstaged though the driver of another volume of the pod is away', async () => {
    const pod = podWith([CLAIMED, { csi: { driver: 'away.csi.test' } }]);
    const { manager, csi } = await open();
    const record = join(bed.podDir(), 'volumes/kubernetes.io~csi/v1');
    await mountAll(manager, POD);
    mkdirSync(record);
    const data = { driverName: 'away.csi.test', volumeHandle: 'far', volumeLifecycleMode: 'Ephemeral' };
    writeFileSync(join(record, 'vol_data.json'), JSON.stringify(data));
    await expect(removeAll(manager, pod)).rejects.toThrow('driver name away.csi.test not found');
    await unstaged(bed.rootDir);
    expect(existsSync(record)).toBe(true);
    expect(csi.drivers.versionOf(CSI_DRIVER)).toBe('1.0.0');
  });

  test('stays staged by an earlier agent where it cannot be read what is published', async () => {
    const { manager, close } = await open();
    await mountAll(manager, POD);
    close();
    writeFileSync(join(bed.podDir(), 'volumes/kubernetes.io~csi/pv-1/vol_data.json'), '{');
    const next = again();
    // What was found is known by then.
    await next.csi.unmount('u-2', podPaths(join(bed.rootDir, 'pods'), 'u-2'));
    await mountAll(next.manager, POD);
    expect(driver.count('NodeUnstageVolume')).toBe(0);
    await removeAll(next.manager, POD);
    await unstaged(bed.rootDir);
  });
});
