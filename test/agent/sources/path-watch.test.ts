import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { watchPath, type PathWatch } from '../../../src/agent/sources/path-watch.ts';
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
  watch = watchPath(path);
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
  const witness = watchPath(folder);
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
