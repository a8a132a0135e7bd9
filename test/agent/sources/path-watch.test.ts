import type { WatchEventType } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { AbsentFiles, watchPath, type PathWatch } from '../../../src/agent/sources/path-watch.ts';
import { waitFor } from '../../support/wait-for.ts';
import { put, temporaryFolder } from './support.ts';

/** Longer than any test. */
const NEVER_MS = 600_000;

let folder: string;
let remove: () => Promise<void>;
let watch: PathWatch | undefined;

beforeEach(async () => {
  ({ path: folder, remove } = await temporaryFolder());
});
afterEach(async () => {
  watch?.close();
  await remove();
});

function start(path = folder): PathWatch {
  watch = watchPath(path, new AbsentFiles());
  return watch;
}
/** Resolves at the next event; `quietMs`: the time without writes after which a write counts as finished. */
const next = (watching: PathWatch, quietMs = 1) => firstValueFrom(watching.next(quietMs, NEVER_MS));

test('there is no event when the watch begins', () => {
  const { changed, failure } = start();
  expect([changed, failure]).toEqual([false, undefined]);
});

test('a write to a file in the folder is seen when it is finished', async () => {
  const file = join(folder, 'a.yaml');
  await writeFile(file, 'a');
  const watching = start();
  await writeFile(file, 'b');
  await next(watching);
  expect(watching.changed).toBe(true);
});

test('a file that is moved into the folder is seen at once, without the delay for writes', async () => {
  const watching = start();
  await put(join(folder, 'a.yaml'), 'a');
  await rename(join(folder, 'a.yaml'), join(folder, 'b.yaml'));
  await next(watching, NEVER_MS);
});

test('a path that does not exist can be watched: its creation is seen', async () => {
  const path = join(folder, 'later');
  const watching = start(path);
  expect(watching.failure).toBeUndefined();
  await mkdir(path);
  await next(watching);
});

test('a folder that is replaced is seen, also behind a link', async () => {
  for (const name of ['one', 'two']) await mkdir(join(folder, name));
  const link = join(folder, 'link');
  await symlink('one', link);
  const watching = start(link);
  await symlink('two', join(folder, 'draft'));
  await rename(join(folder, 'draft'), link);
  await next(watching);
});

test('other files in the folder of the path are ignored', async () => {
  const path = join(folder, 'a.yaml');
  await writeFile(path, 'a');
  const watching = start(path);
  const witness = watchPath(folder, new AbsentFiles());
  await writeFile(join(folder, 'other.yaml'), 'x');
  // Both watches get the events of the folder in one order: an event for the path would have come as well.
  await next(witness);
  witness.close();
  expect(watching.changed).toBe(false);
});

test('the watch emits at the end of an interval without events; a write by the caller counts as an event', async () => {
  const watching = start();
  await firstValueFrom(watching.next(NEVER_MS, 1));
  watching.noteWriting();
  await next(watching);
  expect(watching.changed).toBe(false);
});

describe('a file that is there', () => {
  const REMOVED_AND_MADE = ['rename', 'rename', 'change'] as const;

  /** Whether it counts as gone in between, by these events, which come `apartMs` apart. */
  async function isGone(events: readonly WatchEventType[], apartMs: number): Promise<boolean> {
    let now = 0;
    const absent = new AbsentFiles(() => now);
    const file = join(folder, 'a.yaml');
    await writeFile(file, 'a');
    for (const event of events) {
      absent.note(event, file);
      now += apartMs;
    }
    return absent.gone.has(file);
  }

  test('was gone, if it was removed, made and written in short order', async () => {
    expect(await isGone(REMOVED_AND_MADE, 400)).toBe(true);
  });

  test.each<[string, readonly WatchEventType[], number]>([
    ['was replaced', ['rename'], 0],
    ['was replaced twice', ['rename', 'rename'], 0],
    ['was replaced and written', ['rename', 'change'], 0],
    ['was replaced twice, long apart, and written', REMOVED_AND_MADE, 1_100],
    ['was written again and again', ['change', 'change', 'change'], 0],
  ])('was not gone, if it %s', async (_what, events, apartMs) => {
    expect(await isGone(events, apartMs)).toBe(false);
  });
});

test('a file that is removed before a watch takes the place of another, and made after it, was gone', async () => {
  const file = join(folder, 'a.yaml');
  await writeFile(file, 'a');
  const absent = new AbsentFiles();
  const first = watchPath(folder, absent);
  await rm(file);
  watch = watchPath(folder, absent);
  first.close();
  await writeFile(file, 'a');
  await waitFor(() => absent.gone.size > 0, { what: 'the file to be known as gone' });
  expect([...absent.gone]).toEqual([file]);
});
