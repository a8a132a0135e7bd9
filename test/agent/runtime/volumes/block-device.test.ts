/** PersistentVolumes of volumeMode Block: real block devices, of local volumes and of a CSI driver, also where the agent is killed. */
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ClaimedVolumes } from '../../../../src/agent/runtime/volumes/claimed-volumes.ts';
import { loopsBelow, makeBlockDevice, removeBlockDevices } from '../../../support/block-devices.ts';
import { mountsOf, TestCsiDriver } from '../../../support/test-csi-driver.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { claim, CLAIMED, claimingPod, persistentVolume } from '../../policies/volumes/claims/claims.ts';
import { describeAsRoot, VolumeBed } from './bed.ts';
import { dieAt, stepsOf } from './dying.ts';
import { CSI_DRIVER, csiManagerOn, unstaged } from './csi-managers.ts';
import { mountAll, removeAll } from './volume-managers.ts';

const DEVICES = [{ name: 'data', devicePath: '/dev/xvda' }];
const POD = claimingPod(CLAIMED, { containers: [{ name: 'main', volumeDevices: DEVICES }] });
const OTHER = { ...POD, metadata: { ...POD.metadata, uid: 'u-2' } };

let bed: VolumeBed;
let device: string;
let givesDevices: boolean;
beforeEach(() => {
  givesDevices = true;
  bed = new VolumeBed({
    get givesDevices() {
      return givesDevices;
    },
    claims: new ClaimedVolumes({
      objects: {
        persistentVolumeClaim: () => Promise.resolve(claim()),
        persistentVolume: () =>
          Promise.resolve(persistentVolume({ local: { path: device }, volumeMode: 'Block' })),
      },
      nodeLabels: () => ({}),
    }),
  });
  mkdirSync(bed.rootDir);
  device = makeBlockDevice(join(bed.dir, 'disk.img'), 'kept');
});
afterEach(() => {
  removeBlockDevices(bed.dir);
  bed.remove();
});

/** What a pod's container is given. */
function contentOf(path: string): string {
  expect(statSync(path).isBlockDevice()).toBe(true);
  return readFileSync(path).subarray(0, 4).toString();
}

/** The loop devices by which agents hold block devices. */
const held = () => loopsBelow(bed.rootDir).map(({ file }) => file.slice(bed.rootDir.length + 1));

describeAsRoot('a local volume that is a block device', () => {
  const LINK = 'volumeDevices/kubernetes.io~local-volume/pv-1';
  const MOUNT = 'plugins/kubernetes.io/local-volume/volumeDevices/pv-1/u-1';

  test('is given to containers by a link, is held while the pod has it, and is left as it was', async () => {
    await bed.mount(POD);
    await bed.mount(POD);
    const [container = { name: '' }] = POD.spec.containers;
    const link = join(bed.podDir(), LINK);
    const request = { pod: POD, container };
    expect(await bed.manager.mounts.devices(request)).toEqual([
      { hostPath: link, containerPath: '/dev/xvda', permissions: 'mrw' },
    ]);
    expect([readlinkSync(link), contentOf(link), held()]).toEqual([device, 'kept', [MOUNT]]);
    expect(bed.mounts()).toEqual([join(bed.rootDir, MOUNT)]);
    const later = bed.newManager();
    await later.releaseVolumes('u-1');
    expect([bed.mounts(), held(), existsSync(link)]).toEqual([[], [], false]);
    await later.unmountPod('u-1');
    expect([existsSync(bed.podDir()), contentOf(device)]).toEqual([false, 'kept']);
    expect(readdirSync(join(bed.rootDir, 'plugins/kubernetes.io/local-volume/volumeDevices'))).toEqual([]);
  });

  test('is left as soon as another process closes the loop device that holds it', async () => {
    await bed.mount(POD);
    const [{ device: holder } = { device: '' }] = loopsBelow(bed.rootDir);
    const opened = openSync(holder, 'r');
    const released = bed.newManager().releaseVolumes('u-1');
    // The kernel lets it go after its last user.
    const isLetGo = () => readFileSync(`/sys/block/${basename(holder)}/loop/autoclear`, 'utf8') === '1\n';
    await waitFor(isLetGo, { what: 'the loop device to be detached' });
    closeSync(opened);
    await released;
    expect([bed.mounts(), held()]).toEqual([[], []]);
  });

  test('that is no device, or on a node that gives no devices, becomes an event', async () => {
    givesDevices = false;
    bed.newManager();
    await expect(bed.mount(POD)).rejects.toThrow('block devices (volumeDevices) need a runtime of CRI');
    givesDevices = true;
    bed.newManager();
    const there = device;
    device = bed.dir;
    const none = { ...OTHER, metadata: { ...OTHER.metadata, uid: 'u-3' } };
    await expect(bed.mount(none)).rejects.toThrow(`${bed.dir} is not a block device`);
    expect(bed.events.at(-1)).toBe(
      `FailedMapVolume: MapVolume.MapPodDevice failed for volume "pv-1" : ${bed.dir} is not a block device`,
    );
    device = there;
    await bed.manager.unmountPod('u-3');
  });
});

describeAsRoot('a volume of a CSI driver that is a block device', () => {
  const PLUGIN = 'plugins/kubernetes.io/csi/volumeDevices';
  const LINK = 'volumeDevices/kubernetes.io~csi/pv-1';
  let driver: TestCsiDriver;
  let close: () => void;
  beforeEach(async () => {
    driver = new TestCsiDriver({
      name: CSI_DRIVER,
      registryDir: join(bed.dir, 'sockets'),
      storage: join(bed.dir, 'storage'),
      devices: new Map([['disk-1', device]]),
    });
    await driver.listen();
    close = () => undefined;
  });
  afterEach(() => {
    close();
    driver.kill();
    expect(driver.violations).toEqual([]);
  });
  const open = () => {
    close();
    const opened = csiManagerOn(bed.rootDir, driver.endpoint, { isBlock: true });
    ({ close } = opened);
    return opened.manager;
  };
  /** None is lost, and none is doubled. */
  const mountAgain = async () => {
    const [path = ''] = await mountAll(open(), POD);
    expect([contentOf(path), held(), mountsOf(join(bed.rootDir, PLUGIN, 'publish/pv-1/u-1'))]).toEqual([
      'kept',
      [`${PLUGIN}/pv-1/dev/u-1`],
      1,
    ]);
  };
  const removeAgain = async () => {
    await removeAll(open(), POD);
    await unstaged(bed.rootDir);
    expect([bed.mounts(), held(), existsSync(bed.podDir())]).toEqual([[], [], false]);
  };
  const task = (name: 'mount' | 'remove') =>
    ({ task: name, rootDir: bed.rootDir, pod: POD, csiSocket: driver.endpoint, isBlock: true }) as const;

  test('is staged once, published for each pod, and nothing is left after the last one', async () => {
    const manager = open();
    const [link = ''] = await mountAll(manager, POD);
    await mountAll(manager, OTHER);
    expect(link).toBe(join(bed.podDir(), LINK));
    expect([lstatSync(link).isSymbolicLink(), contentOf(link)]).toEqual([true, 'kept']);
    expect(held().toSorted()).toEqual([`${PLUGIN}/pv-1/dev/u-1`, `${PLUGIN}/pv-1/dev/u-2`]);
    const block = { mount: undefined, block: {} };
    const stagingPath = join(bed.rootDir, PLUGIN, 'staging/pv-1');
    expect(driver.staged).toMatchObject([{ stagingPath, capability: block }]);
    expect(driver.published).toMatchObject([
      { stagingPath, targetPath: join(bed.rootDir, PLUGIN, 'publish/pv-1/u-1'), capability: block },
      { targetPath: join(bed.rootDir, PLUGIN, 'publish/pv-1/u-2') },
    ]);
    expect(
      JSON.parse(readFileSync(join(bed.rootDir, PLUGIN, 'pv-1/data/vol_data.json'), 'utf8')),
    ).toMatchObject({ specVolID: 'pv-1', volumeHandle: 'disk-1', driverName: CSI_DRIVER });
    await removeAll(manager, POD);
    expect([driver.count('NodeUnstageVolume'), held()]).toEqual([0, [`${PLUGIN}/pv-1/dev/u-2`]]);
    await removeAll(manager, OTHER);
    await unstaged(bed.rootDir);
    expect([bed.mounts(), held(), driver.count('NodeUnstageVolume')]).toEqual([[], [], 1]);
    expect(readdirSync(join(bed.rootDir, PLUGIN, 'staging'))).toEqual([]);
  });

  test('is undone by the next agent after its driver may have published it', async () => {
    driver.faults.set('NodePublishVolume', { kind: 'Unavailable', words: 'who knows' });
    await expect(mountAll(open(), POD)).rejects.toThrow(
      `MapVolume.MapPodDevice failed for volume "pv-1" : CSI driver ${CSI_DRIVER}`,
    );
    driver.faults.clear();
    await removeAgain();
    expect(driver.calls.slice(-2)).toEqual(['NodeUnpublishVolume disk-1', 'NodeUnstageVolume disk-1']);
  });

  test('is found again by the next agent, at whatever step of mapping and unmapping this one is killed', async () => {
    const all = await stepsOf(task('mount'), 'volumeDevices');
    await removeAgain();
    for (const index of all.keys()) {
      await dieAt(index + 1, task('mount'), 'volumeDevices');
      if (index % 3 !== 2) await mountAgain();
      await removeAgain();
    }
    await mountAgain();
    for (const index of (await stepsOf(task('remove'), 'volumeDevices')).keys()) {
      await mountAgain();
      await dieAt(index + 1, task('remove'), 'volumeDevices');
      if (index % 3 === 2) await mountAgain();
      await removeAgain();
    }
  });
});
