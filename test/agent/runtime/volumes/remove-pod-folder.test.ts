import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { podPaths } from '../../../../src/agent/runtime/volumes/pod-paths.ts';
import { removeForeignPodFolder } from '../../../../src/agent/runtime/volumes/remove-pod-folder.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-left-'));
  for (const uid of ['uid-1', 'uid-2']) mkdirSync(join(dir, 'pods', uid, 'volumes'), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A process with that path of its file system mounted at /data, in a namespace of its own. */
function processWith(pid: string, root: string, namespace = pid): void {
  mkdirSync(join(dir, 'proc', pid, 'ns'), { recursive: true });
  symlinkSync(`mnt:[${namespace}]`, join(dir, 'proc', pid, 'ns/mnt'));
  writeFileSync(join(dir, 'proc', pid, 'mountinfo'), `36 35 98:0 ${root} /data rw - ext4 /dev/root rw\n`);
}
const remove = (uid: string) =>
  removeForeignPodFolder(uid, podPaths(join(dir, 'pods'), uid), join(dir, 'proc'));

test('the folder of a pod goes, unless a container of another runtime has a part of it mounted', async () => {
  processWith('self', '/', 'own');
  processWith('7', '/lib/statelet/pods/uid-1/volumes/kubernetes.io~empty-dir/data', 'own');
  processWith('8', '/lib/statelet/pods/uid-2/etc-hosts');
  mkdirSync(join(dir, 'proc/9'));
  await remove('uid-1');
  await expect(remove('uid-2')).rejects.toThrow('process 8, of a container that another runtime has started');
  expect(readdirSync(join(dir, 'pods'))).toEqual(['uid-2']);
  expect(existsSync(join(dir, 'pods/uid-2/volumes'))).toBe(true);
});
