import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { describeAsRoot, podWith, run, VolumeBed } from '../bed.ts';

let bed: VolumeBed;
let path: string;
beforeEach(() => {
  bed = new VolumeBed();
  path = join(bed.dir, 'thing');
});
afterEach(() => bed.remove());

const pod = (type: string, at = path) => podWith([{ hostPath: { path: at, type } }]);
const failure = (problem: string) => `MountVolume.SetUp failed for volume "v0" : ${problem}`;
const notA = (what: string) => failure(`hostPath type check failed: ${path} is not a ${what}`);

const NAMES: Readonly<Record<string, string>> = {
  Directory: 'directory',
  DirectoryOrCreate: 'directory',
  File: 'file',
  FileOrCreate: 'file',
  Socket: 'socket file',
  CharDevice: 'character device',
  BlockDevice: 'block device',
};

describe('without a type', () => {
  test('nothing is checked, and nothing is created', async () => {
    await bed.mount(pod(''));
    expect(existsSync(path)).toBe(false);
  });

  test('the path itself is mounted, and no folder is created in the folder of the pod', async () => {
    await bed.mount(pod(''));
    expect(await bed.volumeMounts(pod(''))).toMatchObject([{ hostPath: path, selinuxRelabel: false }]);
    expect(existsSync(join(bed.podDir(), 'volumes'))).toBe(false);
  });
});

test('a path without a leading slash is relative to the root folder', async () => {
  const relative = pod('DirectoryOrCreate', path.slice(1));
  await bed.mount(relative);
  expect(statSync(path).isDirectory()).toBe(true);
  expect(await bed.volumeMounts(relative)).toMatchObject([{ hostPath: path }]);
});

describe('at a path that does not exist', () => {
  test.each(['Directory', 'File', 'Socket', 'CharDevice', 'BlockDevice'])('%s fails', async (type) => {
    await expect(bed.mount(pod(type))).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: notA(NAMES[type] ?? ''),
    });
    expect(existsSync(path)).toBe(false);
  });

  test('DirectoryOrCreate fails where the kernel allows no directory, and blocks no thread of the agent', async () => {
    const attempts = Array.from({ length: 5 }, async (_, index) =>
      bed.mount(pod('DirectoryOrCreate', `/proc/statelet/${index}`)).catch(String),
    );
    for (const said of await Promise.all(attempts)) expect(said).toContain('no folder can be made in /proc');
  });

  test('DirectoryOrCreate creates the directory, with its parents', async () => {
    await bed.mount(pod('DirectoryOrCreate', join(path, 'a/b')));
    expect(statSync(join(path, 'a/b')).isDirectory()).toBe(true);
    expect(statSync(join(path, 'a/b')).mode & 0o777).toBe(0o755);
  });

  test('FileOrCreate creates the file, but not its parent', async () => {
    await bed.mount(pod('FileOrCreate'));
    expect(statSync(path).isFile()).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o644);
    await expect(bed.mount(pod('FileOrCreate', join(bed.dir, 'no/file')))).rejects.toThrow(
      failure(`ENOENT: no such file or directory, open '${bed.dir}/no/file'`),
    );
  });
});

/** Checks which types accept the path. The kubelet takes all that is no directory as a file. */
async function check(passing: readonly string[]): Promise<void> {
  for (const [type, what] of Object.entries(NAMES)) {
    const result = expect(bed.mount(pod(type)));
    if (passing.includes(type)) await result.resolves.toBeUndefined();
    else await result.rejects.toThrow(notA(what));
  }
}

test('a directory is accepted as a directory only, and keeps its mode', async () => {
  mkdirSync(path, { mode: 0o700 });
  await check(['Directory', 'DirectoryOrCreate']);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test('a file is accepted as a file only, and keeps its content', async () => {
  writeFileSync(path, 'kept');
  await check(['File', 'FileOrCreate']);
  expect(statSync(path).size).toBe(4);
});

test('a socket is accepted as a socket and as a file', async () => {
  const server = createServer().listen(path);
  await once(server, 'listening');
  try {
    await check(['Socket', 'File', 'FileOrCreate']);
  } finally {
    server.close();
  }
});

test('a symbolic link is followed to its target', async () => {
  symlinkSync('/dev/null', path);
  await check(['CharDevice', 'File', 'FileOrCreate']);
});

describeAsRoot('devices', () => {
  test('a character device is accepted as a character device and as a file', async () => {
    run('mknod', path, 'c', '1', '3');
    await check(['CharDevice', 'File', 'FileOrCreate']);
  });

  test('a block device is accepted as a block device and as a file', async () => {
    run('mknod', path, 'b', '7', '99');
    await check(['BlockDevice', 'File', 'FileOrCreate']);
  });
});

test('an unknown type and a path with .. are refused', async () => {
  await expect(bed.mount(pod('Pipe'))).rejects.toThrow(failure('Pipe is an invalid volume type'));
  await expect(bed.mount(pod('', '/a/../b'))).rejects.toThrow(
    failure("invalid HostPath `/a/../b`: must not contain '..'"),
  );
});
