import type { BigIntStats } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LastGoodManifests } from '../../../../src/agent/sources/manifests/last-good-manifests.ts';
import {
  fileVersion,
  NOTHING_READ,
  type Reading,
  type ReadingOptions,
  readManifests,
} from '../../../../src/agent/sources/manifests/manifest-files.ts';
import { PatientCalls } from '../../../../src/system/files/patient-calls.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { manifest, put, temporaryFolder } from '../support.ts';

/** Longer than the time for which a file counts as just written. */
const LATER_MS = 60_000;

let folder: string;
let remove: () => Promise<void>;
let contentsRead: string[];

beforeEach(async () => {
  ({ path: folder, remove } = await temporaryFolder());
  contentsRead = [];
});
afterEach(() => remove());

const at = (...names: string[]) => join(folder, ...names);
const names = ({ files }: Reading) =>
  [...files.values()].flatMap(({ pods }) => pods.map(({ metadata }) => metadata.name));
/** Reads the folder at a much later time. `contentsRead` has the files that were read, relative to the folder. */
function read(before: Reading, options: Partial<ReadingOptions> = {}): Promise<Reading> {
  contentsRead = [];
  const readContent = (file: string) => {
    contentsRead.push(file.slice(folder.length + 1));
    return readFile(file);
  };
  return readManifests(folder, before, {
    source: 'file',
    nodeName: 'node',
    now: () => Date.now() + LATER_MS,
    readContent,
    calls: new PatientCalls(systemClock, LATER_MS),
    ...options,
  });
}

describe('the second reading of a folder', () => {
  test('does not read manifests that have not changed', async () => {
    for (const name of ['a', 'b', 'c']) await put(at(`${name}.yaml`), manifest(name));
    await put(at('broken.yaml'), 'kind: Pod');
    const first = await read(NOTHING_READ);
    expect(contentsRead).toHaveLength(4);
    const second = await read(first);
    expect(contentsRead).toEqual([]);
    expect(second.files).toEqual(first.files);
    expect(second.files.get(at('broken.yaml'))?.problems).not.toEqual([]);
  });

  test('reads only manifests that were written or replaced', async () => {
    for (const name of ['a', 'b', 'c']) await put(at(`${name}.yaml`), manifest(name));
    const first = await read(NOTHING_READ);
    await writeFile(at('b.yaml'), manifest('x'));
    await put(at('c.yaml'), manifest('z'));
    expect(names(await read(first))).toEqual(['a-node', 'x-node', 'z-node']);
    expect(contentsRead).toEqual(['b.yaml', 'c.yaml']);
  });

  test('reads a changed manifest of the same length and modification time', async () => {
    await put(at('a.yaml'), manifest('a'));
    const { atime, mtime } = await stat(at('a.yaml'));
    const first = await read(NOTHING_READ);
    await writeFile(at('a.yaml'), manifest('b'));
    await utimes(at('a.yaml'), atime, mtime);
    expect(names(await read(first))).toEqual(['b-node']);
  });

  test('reads a manifest that was replaced by an older file', async () => {
    await put(at('.older'), manifest('b'));
    await put(at('a.yaml'), manifest('a'));
    const first = await read(NOTHING_READ);
    await rename(at('.older'), at('a.yaml'));
    expect(names(await read(first))).toEqual(['b-node']);
  });

  test('reads manifests behind a link that has another target now', async () => {
    for (const name of ['one', 'two']) {
      await mkdir(at(`..${name}`));
      await writeFile(at(`..${name}`, 'a.yaml'), manifest(name));
    }
    await symlink('..one', at('..data'));
    await symlink('..data/a.yaml', at('a.yaml'));
    const first = await read(NOTHING_READ);
    await symlink('..two', at('..new'));
    await rename(at('..new'), at('..data'));
    const second = await read(first);
    expect(names(second)).toEqual(['two-node']);
    await read(second);
    expect(contentsRead).toEqual([]);
  });

  test('reads a manifest that had just been written at the first reading', async () => {
    await put(at('a.yaml'), manifest('a'));
    const { ctimeMs } = await stat(at('a.yaml'));
    for (const now of [ctimeMs - LATER_MS, ctimeMs, ctimeMs + 2_000]) {
      const first = await read(NOTHING_READ, { now: () => now });
      await read(first);
      expect(contentsRead).toEqual(['a.yaml']);
    }
  });

  test('reads a manifest that could not be read before', async () => {
    await put(at('a.yaml'), manifest('a'));
    const good = await read(NOTHING_READ);
    await chmod(at('a.yaml'), 0o600);
    const refused = () => Promise.reject(new Error('refused'));
    const unreadable = await read(good, { readContent: refused });
    expect(unreadable.files.get(at('a.yaml'))?.problems).toEqual([{ message: 'cannot be read: refused' }]);
    const mended = await read(unreadable);
    expect(contentsRead).toEqual(['a.yaml']);
    expect(mended.files.get(at('a.yaml'))).toMatchObject({ pods: [{}], problems: [] });
  });

  test('reads a manifest whose last good version could not be written to the disk', async () => {
    await put(at('a.yaml'), manifest('a'));
    await writeFile(at('.kept'), 'a file where the folder would be');
    const lastGood = new LastGoodManifests(at('.kept'));
    const first = await read(NOTHING_READ, { lastGood });
    await lastGood.settled();
    expect(lastGood.failure).toBeDefined();
    await rm(at('.kept'));
    const second = await read(first, { lastGood });
    await lastGood.settled();
    expect(lastGood.failure).toBeUndefined();
    await read(second, { lastGood });
    expect(contentsRead).toEqual([]);
  });
});

const WRITTEN_MS = 1_000_000;

/** Metadata of a file that was written at `WRITTEN_MS`. */
function stats(more: Partial<Record<'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs', bigint>> = {}) {
  const times = { mtimeMs: BigInt(WRITTEN_MS), ctimeMs: BigInt(WRITTEN_MS) };
  const { mtimeMs, ctimeMs, ...others } = { dev: 1n, ino: 2n, size: 3n, ...times, ...more };
  const nanoseconds = { mtimeNs: mtimeMs * 1_000_000n, ctimeNs: ctimeMs * 1_000_000n };
  return { ...others, mtimeMs, ctimeMs, ...nanoseconds } as BigIntStats;
}

const STATTED_LATER_MS = WRITTEN_MS + 5_000;

test('the version of a file stays as long as its metadata does', () => {
  expect(fileVersion(stats(), STATTED_LATER_MS)).toBeDefined();
  expect(fileVersion(stats(), STATTED_LATER_MS + 60_000.5)).toBe(fileVersion(stats(), STATTED_LATER_MS));
});

test.each([
  ['is on another device', { dev: 9n }],
  ['is another file', { ino: 9n }],
  ['has another size', { size: 9n }],
  ['was written at another time', { mtimeMs: 9n }],
  ['was changed at another time, though its modification time was set back', { ctimeMs: 999_999n }],
])('it differs when the file %s', (_what, more) => {
  expect(fileVersion(stats(more), STATTED_LATER_MS)).not.toBe(fileVersion(stats(), STATTED_LATER_MS));
});

test.each([
  ['less than 5 s before', STATTED_LATER_MS - 1],
  ['after', WRITTEN_MS - 60_000],
])('there is none when the last change came %s the file was examined', (_when, statAt) => {
  expect(fileVersion(stats(), statAt)).toBeUndefined();
});

test('the later of both times counts', () => {
  expect(fileVersion(stats({ mtimeMs: 1n }), STATTED_LATER_MS - 1)).toBeUndefined();
  expect(fileVersion(stats({ ctimeMs: 1n }), STATTED_LATER_MS - 1)).toBeUndefined();
});
