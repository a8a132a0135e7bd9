/** Volumes of CSI drivers that are used against the rules are reported. */
import { expect, test } from '@jest/globals';
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

function bed() {
  const violations: string[] = [];
  const disk = {
    files: new Map([[`${FOLDER}/vol_data.json`, '{}']]),
    folders: new Set<string>(),
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
    specOf: () => SPEC,
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
