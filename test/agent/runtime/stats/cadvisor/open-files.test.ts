import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  descriptorsMax,
  OpenFiles,
  openFilesMax,
} from '../../../../../src/agent/runtime/stats/cadvisor/open-files.ts';
import { openBelow } from '../../../../support/held-open.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-held-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const open = () => openBelow(folder);

describe('held files', () => {
  test('stay open, and are read from their beginning each time', () => {
    const held = new OpenFiles(10);
    const path = file('a', '1');
    expect([held.read(path), open()]).toEqual(['1', 1]);
    file('a', '23');
    expect([held.read(path), open()]).toEqual(['23', 1]);
    held.close();
    expect([held.size, open()]).toEqual([0, 0]);
  });

  test('are not more than so many; the others are opened each time', () => {
    const held = new OpenFiles(1);
    const [a, b] = [file('a', '1'), file('b', '2')];
    expect([held.read(a), held.read(b), held.read(b)]).toEqual(['1', '2', '2']);
    expect(open()).toBe(1);
    held.close();
  });

  test('that cannot be read take no place', () => {
    const held = new OpenFiles(1);
    expect(held.read(join(folder, 'missing'))).toBeUndefined();
    expect(held.size).toBe(0);
  });

  test('can be closed one by one', () => {
    const held = new OpenFiles(10);
    const [a, b] = [file('a', '1'), file('b', '2')];
    for (const path of [a, b]) held.read(path);
    held.close([a, join(folder, 'unknown')]);
    expect([held.size, open()]).toEqual([1, 1]);
    expect(held.read(a)).toBe('1');
    held.close();
    expect(open()).toBe(0);
  });
});

test('at most a quarter of the descriptors of the process stays open', () => {
  expect(openFilesMax(1024)).toBe(256);
  expect(openFilesMax(1_000_000)).toBe(4096);
  expect(openFilesMax(undefined)).toBe(0);
  expect(descriptorsMax()).toBeGreaterThan(0);
});
