/** Tests that need root: they mount file systems, change the user or create namespaces. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from '@jest/globals';

const isRoot = process.geteuid?.() === 0;

/** Without root the test is skipped, and stderr says so. */
export function testAsRoot(name: string, work: () => Promise<void>, timeoutMs?: number): void {
  if (!isRoot) process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs root.\n`);
  (isRoot ? test : test.skip)(name, work, timeoutMs);
}

/** A small file system that a test can fill. */
export interface SmallDisk {
  readonly path: string;
  /** Fills it until no byte can be written and no folder can be created. */
  fill(): void;
  empty(): void;
  remountReadOnly(): void;
  /** The same file system at another path, where it is read-only. */
  mountReadOnlyView(): string;
  unmount(): void;
}

const SIZE_BYTES = 16 * 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024);

/** An ext4 file system in a file of the folder, mounted beside the file. */
export function mountSmallDisk(folder: string): SmallDisk {
  const [image, path, view] = ['disk.img', 'disk', 'view'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(image, '');
  truncateSync(image, SIZE_BYTES);
  // Without reserved blocks for root.
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image]);
  mkdirSync(path);
  execFileSync('mount', ['-o', 'loop', image, path]);
  const filler = join(path, 'filler');
  return {
    path,
    fill: () => fill(filler),
    empty: () => rmSync(filler),
    remountReadOnly: () => execFileSync('mount', ['-o', 'remount,ro', path]),
    mountReadOnlyView: () => {
      mkdirSync(view);
      execFileSync('mount', ['--bind', path, view]);
      execFileSync('mount', ['-o', 'remount,bind,ro', view]);
      return view;
    },
    unmount: () => {
      for (const mounted of existsSync(view) ? [view, path] : [path])
        execFileSync('umount', ['--lazy', mounted]);
    },
  };
}

function fill(file: string): void {
  const fd = openSync(file, 'a');
  try {
    for (let size = PIECE.length; size > 0; size = size > 1 ? size >> 1 : 0) writeUntilFull(fd, size);
  } finally {
    closeSync(fd);
  }
}

function writeUntilFull(fd: number, size: number): void {
  try {
    for (;;) writeSync(fd, PIECE, 0, size);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

/** A file system that never answers, like one of a server that is down. */
export interface HungDisk {
  readonly path: string;
  /** Processes that wait there get an error. */
  unmount(): void;
}

/** The kernel asks for each file through an open `/dev/fuse`, and nothing answers there. */
export function mountHungDisk(folder: string): HungDisk {
  const path = join(folder, 'hung');
  mkdirSync(path);
  const device = openSync('/dev/fuse', 'r+');
  const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
  execFileSync('mount', ['-i', '-t', 'fuse', '-o', options, 'hung', path], {
    stdio: ['ignore', 'ignore', 'inherit', device],
  });
  return {
    path,
    unmount: () => {
      closeSync(device);
      execFileSync('umount', ['--lazy', path]);
    },
  };
}
