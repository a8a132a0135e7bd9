import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fileOfDraft, removeDraft, replaceFile } from '../../src/runtime/replace-file.ts';
import { mountSmallDisk, testAsRoot } from '../support/as-root.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-file-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a file is replaced whole, with its mode, and nothing is left beside it', () => {
  const file = join(dir, 'state.json');
  replaceFile(file, 'old', 0o600);
  replaceFile(file, 'new', 0o600);
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['new', 0o600]);
  expect(readdirSync(dir)).toEqual(['state.json']);
});

test('what cannot be put in its place is an error, and leaves nothing', () => {
  mkdirSync(join(dir, 'state.json', 'full'), { recursive: true });
  expect(() => replaceFile(join(dir, 'state.json'), 'new', 0o600)).toThrow('EISDIR');
  expect(readdirSync(dir)).toEqual(['state.json']);
});

testAsRoot('on a full disk the old content stays, and nothing beside it', () => {
  const disk = mountSmallDisk(dir);
  try {
    const file = join(disk.path, 'state.json');
    replaceFile(file, 'old', 0o600);
    disk.fill();
    expect(() => replaceFile(file, 'new'.repeat(10_000), 0o600)).toThrow('ENOSPC');
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect(readdirSync(disk.path).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  } finally {
    disk.unmount();
  }
  return Promise.resolve();
});

test('what a killed process left is removed, and known by its name', () => {
  const file = join(dir, 'a.json');
  writeFileSync(`${file}.tmp`, '{"half');
  expect(readdirSync(dir).map((name) => fileOfDraft(name))).toEqual(['a.json']);
  removeDraft(file);
  removeDraft(file);
  expect(readdirSync(dir)).toEqual([]);
  expect(fileOfDraft('a.json')).toBeUndefined();
});
