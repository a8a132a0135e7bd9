import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { NewestFile, storedText } from '../../src/system/newest-file.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'newest-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file in memory, whose writes end when the test says so. */
function slowFile() {
  const texts: string[] = [];
  const ends: PromiseWithResolvers<undefined>[] = [];
  const stored = {
    path: 'slow',
    read: () => texts.at(-1),
    replace: async (text: string) => {
      const end = Promise.withResolvers<undefined>();
      ends.push(end);
      await end.promise;
      texts.push(text);
    },
  };
  return { texts, ends, stored };
}

test('what is asked to be written while a write is under way, is written once, as it is then', async () => {
  const { texts, ends, stored } = slowFile();
  let content = 'a';
  const file = new NewestFile<string>(stored, (text) => `<${text}>`);
  const write = () => file.write(() => content);
  const first = write();
  await Promise.resolve();
  content = 'b';
  const waiting = [write(), write()];
  content = 'c';
  ends[0]?.resolve(undefined);
  await first;
  expect(file.isSaved('a')).toBe(true);
  await Promise.resolve();
  ends[1]?.resolve(undefined);
  await Promise.all(waiting);
  expect([texts, file.isSaved('c')]).toEqual([['<a>', '<c>'], true]);
});

test('what the file has already is not written again, and what could not be written is', async () => {
  const path = join(folder, 'inner/state');
  const file = new NewestFile<string>(storedText(path), (text) => text);
  await expect(file.write(() => 'a')).rejects.toThrow('ENOENT');
  expect([file.isSaved('a'), storedText(path).read()]).toEqual([false, undefined]);
  mkdirSync(join(folder, 'inner'));
  await file.write(() => 'a');
  expect(storedText(path).read()).toBe('a');
  writeFileSync(path, 'by somebody else');
  await file.write(() => 'a');
  expect(storedText(path).read()).toBe('by somebody else');
  expect(() => storedText(folder).read()).toThrow('is not a file');
});
