import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fileOfDraft, removeDraft, replaceFile, replaceFileSync } from '../../src/system/replace-file.ts';
import { mountSmallDisk, testAsRoot } from '../support/as-root.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-file-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const WAYS = {
  replaceFileSync: async (path: string, content: string) => {
    await Promise.resolve();
    replaceFileSync(path, content, 0o600);
  },
  replaceFile: (path: string, content: string) => replaceFile(path, content, { mode: 0o600, flush: true }),
};

describe.each(Object.entries(WAYS))('%s', (_name, replace) => {
  test('replaces a file as a whole, with its mode, and leaves no draft', async () => {
    const file = join(dir, 'state.json');
    await replace(file, 'old');
    await replace(file, 'new');
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['new', 0o600]);
    expect(readdirSync(dir)).toEqual(['state.json']);
  });

  test('fails when the file cannot be replaced, and leaves no draft', async () => {
    mkdirSync(join(dir, 'state.json', 'full'), { recursive: true });
    await expect(replace(join(dir, 'state.json'), 'new')).rejects.toThrow('EISDIR');
    expect(readdirSync(dir)).toEqual(['state.json']);
  });

  testAsRoot('keeps the old content on a full disk, and leaves no draft', async () => {
    const disk = mountSmallDisk(dir);
    try {
      const file = join(disk.path, 'state.json');
      await replace(file, 'old');
      disk.fill();
      await expect(replace(file, 'new'.repeat(10_000))).rejects.toThrow('ENOSPC');
      expect(readFileSync(file, 'utf8')).toBe('old');
      expect(readdirSync(disk.path).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    } finally {
      disk.unmount();
    }
  });
});

test('the draft of a killed process is known by its name, and can be removed', () => {
  const file = join(dir, 'a.json');
  writeFileSync(`${file}.tmp`, '{"half');
  expect(readdirSync(dir).map((name) => fileOfDraft(name))).toEqual(['a.json']);
  removeDraft(file);
  removeDraft(file);
  expect(readdirSync(dir)).toEqual([]);
  expect(fileOfDraft('a.json')).toBeUndefined();
});
