/** An agent that is killed while it mounts or unmounts volumes of a CSI driver. The driver lives on, and ends what it has begun. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type CsiCall, mountsOf, TestCsiDriver } from '../../../support/test-csi-driver.ts';
import { CLAIMED } from '../../policies/volumes/claims/claims.ts';
import { describeAsRoot, podWith, VolumeBed } from './bed.ts';
import { dieAt, dieWhen, stepsOf } from './dying.ts';
import { CSI_DRIVER, csiManagerOn, unstaged } from './csi-managers.ts';
import { mountAll, removeAll } from './volume-managers.ts';

let bed: VolumeBed;
let driver: TestCsiDriver;
let storage: string;
beforeEach(async () => {
  bed = new VolumeBed();
  storage = join(bed.dir, 'storage');
  mkdirSync(join(storage, 'disk-1'), { recursive: true });
  writeFileSync(join(storage, 'disk-1/kept'), 'kept');
  driver = new TestCsiDriver({ name: CSI_DRIVER, registryDir: join(bed.dir, 'plugins'), storage });
  await driver.listen();
});
afterEach(() => {
  driver.kill();
  bed.remove();
  expect(driver.violations).toEqual([]);
});

const POD = podWith([CLAIMED, { csi: { driver: CSI_DRIVER } }], { securityContext: { fsGroup: 2345 } });

/** In the folders of staged and published volumes alone. */
const STEPS = 'csi';

const task = (name: 'mount' | 'remove') =>
  ({ task: name, rootDir: bed.rootDir, pod: POD, csiSocket: driver.endpoint }) as const;

/** What another agent finds is as if none had been killed, and it continues. */
async function mountAgain(): Promise<void> {
  const { manager, close } = csiManagerOn(bed.rootDir, driver.endpoint);
  const [persistent = ''] = await mountAll(manager, POD);
  expect(readFileSync(join(persistent, 'kept'), 'utf8')).toBe('kept');
  const mounts = bed.mounts();
  expect(mounts.map(mountsOf)).toEqual([1, 1, 1]);
  expect(mounts.filter((path) => path.endsWith('globalmount'))).toHaveLength(1);
  close();
}

async function removeAgain(): Promise<void> {
  const { manager, close } = csiManagerOn(bed.rootDir, driver.endpoint);
  await removeAll(manager, POD);
  await unstaged(bed.rootDir);
  expect([bed.mounts(), existsSync(bed.podDir())]).toEqual([[], false]);
  expect(readFileSync(join(storage, 'disk-1/kept'), 'utf8')).toBe('kept');
  close();
}

describeAsRoot('an agent that is killed', () => {
  test('at any step of mounting loses, doubles and leaves no mount', async () => {
    mkdirSync(bed.rootDir);
    const all = await stepsOf(task('mount'), STEPS);
    expect(all.filter((step) => step.includes('vol_data.json'))).not.toEqual([]);
    await removeAgain();
    for (const index of all.keys()) {
      // The folders of the node were made in the first run: the last steps of that one are none of this one.
      await dieAt(index + 1, task('mount'), STEPS);
      // Some pods are gone by then.
      if (index % 3 !== 2) await mountAgain();
      await removeAgain();
    }
  });

  test('at any step of unmounting leaves nothing, and the driver is asked to unstage when nothing is published', async () => {
    mkdirSync(bed.rootDir);
    await mountAgain();
    for (const index of (await stepsOf(task('remove'), STEPS)).keys()) {
      await mountAgain();
      expect(await dieAt(index + 1, task('remove'), STEPS)).toBe(true);
      if (index % 3 === 2) await mountAgain();
      await removeAgain();
    }
  });

  test.each<[CsiCall, 'mount' | 'remove']>([
    ['NodeStageVolume', 'mount'],
    ['NodePublishVolume', 'mount'],
    ['NodeUnpublishVolume', 'remove'],
    ['NodeUnstageVolume', 'remove'],
  ])('while the driver works on %s, is continued', async (call, name) => {
    mkdirSync(bed.rootDir);
    for (const isWanted of [true, false]) {
      if (name === 'remove') await mountAgain();
      await dieWhen(task(name), (kill) => {
        driver.onCall = (asked) => {
          if (asked === call) kill();
        };
      });
      driver.onCall = () => undefined;
      if (isWanted) await mountAgain();
      await removeAgain();
    }
  });
});
