/** The daemon on a full disk. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { mountSmallDisk, type SmallDisk, testAsRoot } from '../support/as-root.ts';
import { DaemonBed, mainProcesses, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest } from './manifests.ts';

let bed: DaemonBed;
let place: string;
let disk: SmallDisk | undefined;

beforeEach(() => {
  bed = new DaemonBed();
  place = mkdtempSync(join(tmpdir(), 'statelet-disk-'));
});
afterEach(async () => {
  await bed.cleanUp();
  disk?.unmount();
  rmSync(place, { recursive: true });
});

const file = (name: string) => join(bed.manifestDir, `${name}.yaml`);

/** Puts the root folder on a disk of its own. */
function mountRoot(): SmallDisk {
  disk = mountSmallDisk(place);
  mkdirSync(join(disk.path, 'root'));
  pointRootTo(disk.path);
  return disk;
}

function pointRootTo(path: string): void {
  rmSync(bed.rootDir, { force: true });
  symlinkSync(join(path, 'root'), bed.rootDir);
}

testAsRoot('the daemon starts, adopts the running pods, and removes those without a manifest', async () => {
  const small = mountRoot();
  for (const name of ['stays', 'goes']) writeFileSync(file(name), manifest(name));
  const first = await bed.startToLeavePods();
  const [stays, goes] = [await first.running('stays'), await first.running('goes')];
  const processes = mainProcesses(stays);
  expect(processes).toHaveLength(1);
  await first.end('SIGKILL');
  rmSync(file('goes'));
  small.fill();

  const second = await bed.start();
  await second.onlyPods('stays');
  expect(mainProcesses(await second.running('stays'))).toEqual(processes);
  await waitFor(() => mainProcesses(goes).length === 0 && !existsSync(bed.podLogs(goes.metadata)), {
    what: 'the logs of the other pod to be removed',
  });
  const { code, stdout } = await statelet('pods', '--root-dir', bed.rootDir);
  expect([code, stdout]).toEqual([0, expect.stringContaining('stays-node-a')]);
});

testAsRoot(
  'the daemon starts with an empty root folder, and runs pods as soon as the disk has space',
  async () => {
    const small = mountRoot();
    writeFileSync(file('web'), manifest('web'));
    small.fill();
    const daemon = bed.launch(['--pod-manifest-path', bed.manifestDir, '--exit-with-pods']);
    await daemon.serves();
    await daemon.warning('podLogsDir', 'ENOSPC');
    expect((await daemon.fetch('/pods')).status).toBe(200);
    small.empty();
    await daemon.running('web');
  },
);

testAsRoot('a new root folder on a read-only disk is an error of one line that names the flag', async () => {
  const small = mountRoot();
  small.remountReadOnly();
  const { code, stdout, stderr } = await statelet(
    'run',
    '--root-dir',
    bed.rootDir,
    '--pods',
    bed.manifestDir,
  );
  expect([code, stdout.includes('Running')]).toEqual([2, false]);
  expect(stderr).toMatch(/^statelet: --root-dir \S+: EROFS: read-only file system, .*\n$/);
  expect(stderr.split('\n')).toHaveLength(2);
});

testAsRoot('the daemon adopts the running pods on a disk that has become read-only', async () => {
  const small = mountRoot();
  writeFileSync(file('web'), manifest('web'));
  const first = await bed.startToLeavePods();
  const processes = mainProcesses(await first.running('web'));
  await first.end('SIGKILL');
  pointRootTo(small.mountReadOnlyView());
  try {
    const second = await bed.startToLeavePods();
    await second.warning('statelet.sock', 'EROFS');
    expect(mainProcesses(await second.running('web'))).toEqual(processes);
    await second.end();
  } finally {
    pointRootTo(small.path);
  }
});
