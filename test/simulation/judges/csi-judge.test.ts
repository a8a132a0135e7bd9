/** Volumes of CSI drivers that are used against the rules are reported. */
import { describe, expect, test } from '@jest/globals';
import { CsiJudge } from '../../../src/simulation/judges/csi-judge.ts';
import type { ContainerTruth } from '../../../src/simulation/runtime/witness.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { container, sandbox } from './lifecycle-judge-bed.ts';

const DISK = 'kubernetes.io/csi/disks^one';
const FOLDER = '/root/pods/uid/volumes/kubernetes.io~csi/one';
const TARGET = `${FOLDER}/mount`;
const SPEC: PodSpec = {
  containers: [{ name: 'main' }],
  volumes: [{ name: 'csi', persistentVolumeClaim: { claimName: 'one' } }],
};

function bed(spec = SPEC) {
  const violations: string[] = [];
  const disk = {
    files: new Map([[`${FOLDER}/vol_data.json`, '{}']]),
    folders: new Set<string>(),
    links: new Map<string, string>(),
    mounts: new Map<string, string>(),
  };
  const attached = new Set([DISK]);
  const running: ContainerTruth[] = [];
  const judge = new CsiJudge({
    disk: () => disk,
    podsDir: '/root/pods',
    staging: [DISK],
    attachable: [DISK],
    isAttached: (volume) => attached.has(volume),
    specOf: () => spec,
    runtime: () => ({ sandboxesOf: () => [sandbox(true, ...running)] }),
    onPublished: () => undefined,
    violated: (uid, what) => violations.push(`${String(uid)}: ${what}`),
  });
  return { judge, disk, attached, running, reported: () => violations.splice(0) };
}

test('a volume that is staged, published, unpublished and unstaged in turn is all right', () => {
  const { judge, disk, running, reported } = bed();
  judge.asked(TARGET);
  judge.stages(DISK);
  judge.publishes(DISK, TARGET);
  disk.mounts.set(TARGET, DISK);
  const main = container('c1', { uid: 'uid' });
  judge.started(main, true);
  judge.unpublishes(DISK, TARGET);
  judge.unstages(DISK);
  judge.detached(DISK);
  disk.mounts.clear();
  running.push(main);
  expect(reported()).toEqual([]);
  expect(judge.leftover).toBeUndefined();
});

test('a volume that is not staged, not attached, or not recorded on disk is reported', () => {
  const { judge, attached, reported } = bed();
  judge.publishes(DISK, TARGET);
  expect(reported()).toEqual([`uid: ${TARGET}: ${DISK} is published without being staged`]);
  attached.clear();
  judge.stages(DISK);
  expect(reported()).toEqual([`undefined: ${DISK} is staged, and not attached`]);
  judge.asked('/root/pods/uid/volumes/kubernetes.io~csi/other/mount');
  expect(reported()).toEqual([expect.stringContaining('is mounted before the disk says by whom')]);
});

test('a volume that is unstaged or unpublished while it is used is reported', () => {
  const { judge, disk, running, reported } = bed();
  judge.stages(DISK);
  judge.publishes(DISK, TARGET);
  judge.unstages(DISK);
  expect(reported()).toEqual([`uid: ${TARGET}: ${DISK} is unstaged while it is published`]);
  judge.stages(DISK);
  judge.detached(DISK);
  expect(reported()).toEqual([`undefined: ${DISK} is let go to be detached, and is staged`]);
  const main = container('c1', { uid: 'uid' });
  running.push(main);
  disk.mounts.set(TARGET, DISK);
  judge.started(main, true);
  judge.unpublishes(DISK, TARGET);
  expect(reported()).toEqual([`uid: ${TARGET}: ${DISK} is unpublished, and its container main runs`]);
});

test('a container that starts without its volume, and a mount that the agent takes or deletes into, are reported', () => {
  const { judge, reported } = bed();
  judge.started(container('c1', { uid: 'uid' }), false);
  expect(reported()).toEqual([]);
  judge.started(container('c2', { uid: 'uid' }), true);
  expect(reported()).toEqual([`uid: ${TARGET}: main starts, and its volume is not mounted`]);
  judge.unmountedByAgent(TARGET);
  judge.removedBelow(TARGET, FOLDER);
  expect(reported()).toHaveLength(2);
});

test('a mount, a staged volume and a folder that are left are found', () => {
  const { judge, disk } = bed();
  disk.folders.add('/root/pods/uid');
  expect(judge.leftover).toBe('the folder /root/pods/uid is left');
  judge.stages(DISK);
  expect(judge.leftover).toBe(`${DISK} is still staged`);
  disk.mounts.set(TARGET, DISK);
  expect(judge.leftover).toBe(`${TARGET} is still mounted`);
});

describe('a block device', () => {
  const DEVICES = '/root/plugins/kubernetes.io/csi/volumeDevices';
  const PUBLISHED = `${DEVICES}/publish/one/uid`;
  const MAPPED = `${DEVICES}/one/dev/uid`;
  const LINK = '/root/pods/uid/volumeDevices/kubernetes.io~csi/one';
  const spec = {
    ...SPEC,
    containers: [{ name: 'main', volumeDevices: [{ name: 'csi', devicePath: '/dev/one' }] }],
  };

  test('that is recorded, linked, published, mapped, and let go in turn, is all right', () => {
    const { judge, disk, reported } = bed(spec);
    disk.files.set(`${DEVICES}/one/data/vol_data.json`, '{}');
    judge.asked(`${DEVICES}/staging/one`);
    judge.stages(DISK);
    disk.links.set(LINK, PUBLISHED);
    judge.asked(PUBLISHED);
    judge.publishes(DISK, PUBLISHED);
    for (const path of [PUBLISHED, MAPPED]) disk.mounts.set(path, DISK);
    judge.started(container('c1', { uid: 'uid' }), true);
    disk.mounts.delete(MAPPED);
    judge.unpublishes(DISK, PUBLISHED);
    disk.mounts.clear();
    disk.links.clear();
    judge.unstages(DISK);
    expect(reported()).toEqual([]);
    for (const folder of ['publish', 'staging']) disk.folders.add(`${DEVICES}/${folder}`);
    expect(judge.leftover).toBeUndefined();
  });

  test('that the next agent would not find is reported', () => {
    const { judge, disk, reported } = bed(spec);
    judge.asked(`${DEVICES}/staging/one`);
    disk.files.set(`${DEVICES}/one/data/vol_data.json`, '{}');
    judge.asked(PUBLISHED);
    expect(reported()).toEqual([
      expect.stringMatching(/^undefined: .*staging\/one: is mounted before the disk says/u),
      expect.stringMatching(/^uid: .*publish\/one\/uid: is mounted before the disk says/u),
    ]);
  });

  test('that a container has no access to, or that is unpublished while it is mapped, is reported', () => {
    const { judge, disk, reported } = bed(spec);
    judge.stages(DISK);
    judge.publishes(DISK, PUBLISHED);
    disk.mounts.set(PUBLISHED, DISK);
    judge.started(container('c1', { uid: 'uid' }), true);
    expect(reported()).toEqual([`uid: ${MAPPED}: main starts, and its volume is not mounted`]);
    disk.mounts.set(MAPPED, DISK);
    judge.unpublishes(DISK, PUBLISHED);
    expect(reported()).toEqual([`uid: ${PUBLISHED}: ${DISK} is unpublished, and still mapped for the pod`]);
  });

  test('is found where its link or its folder is left', () => {
    const { judge, disk } = bed(spec);
    disk.folders.add(`${DEVICES}/one`);
    expect(judge.leftover).toBe(`the folder ${DEVICES}/one is left`);
    disk.links.set(LINK, PUBLISHED);
    expect(judge.leftover).toBe(`the link ${LINK} is left`);
  });
});
