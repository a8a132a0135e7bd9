import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Host, rootFolder, thisHost } from '../../../src/agent/config/root-folder.ts';

let cwd: string;
let own: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'statelet-cwd-'));
  own = join(cwd, '.statelet');
});
afterEach(() => rmSync(cwd, { recursive: true }));

const host = (more: Partial<Host> = {}): Host => ({
  hostname: 'a',
  homedir: '/home/me',
  isRoot: false,
  env: {},
  cwd,
  ...more,
});
const DEFAULT = { path: '/home/me/.local/state/statelet', origin: 'by default', isDefault: true };
const testAsRoot = process.getuid?.() === 0 ? test : test.skip;

describe('the root folder is', () => {
  test('that of the flag, whatever else there is', () => {
    mkdirSync(own, { mode: 0o700 });
    const env = { STATELET_ROOT_DIR: '/b' };
    expect(rootFolder('a', host({ env }))).toEqual({
      path: resolve('a'),
      origin: 'given by --root-dir',
      isDefault: false,
    });
  });

  test('that of the variable, before one in the working folder', () => {
    mkdirSync(own, { mode: 0o700 });
    const env = { STATELET_ROOT_DIR: '/b' };
    expect(rootFolder('', host({ env }))).toEqual({
      path: '/b',
      origin: 'given by STATELET_ROOT_DIR',
      isDefault: false,
    });
  });

  test('.statelet in the working folder, before the default', () => {
    mkdirSync(own, { mode: 0o755 });
    const env = { STATELET_ROOT_DIR: '' };
    expect(rootFolder(undefined, host({ env }))).toEqual({
      path: own,
      origin: 'found in the working folder',
      isDefault: false,
    });
  });

  test("the default elsewhere: root's, or that of a user", () => {
    expect(rootFolder(undefined, host())).toEqual(DEFAULT);
    expect(rootFolder(undefined, host({ cwd: undefined }))).toEqual(DEFAULT);
    expect(rootFolder(undefined, host({ isRoot: true })).path).toBe('/var/lib/statelet');
    const env = { XDG_STATE_HOME: '/state' };
    expect(rootFolder(undefined, host({ env })).path).toBe('/state/statelet');
  });
});

describe('what others may have put into the working folder is not used, with the reason:', () => {
  const passedOver = () => rootFolder(undefined, host());

  test('a link', () => {
    symlinkSync(cwd, own);
    expect(passedOver()).toEqual({ ...DEFAULT, passedOver: `${own} is not used: it is a link` });
  });

  test('a file', () => {
    writeFileSync(own, '');
    expect(passedOver()).toEqual({ ...DEFAULT, passedOver: `${own} is not used: it is no folder` });
  });

  test.each([0o777, 0o770])('a folder of mode %i, to which others may write', (mode) => {
    mkdirSync(own);
    chmodSync(own, mode);
    const why = 'others than its owner may write to it';
    expect(passedOver()).toEqual({ ...DEFAULT, passedOver: `${own} is not used: ${why}` });
  });

  testAsRoot('a folder of another user', () => {
    mkdirSync(own, { mode: 0o700 });
    chownSync(own, 1234, 1234);
    const why = 'it belongs to another user';
    expect(passedOver()).toEqual({ ...DEFAULT, passedOver: `${own} is not used: ${why}` });
  });
});

test('the facts of this machine have its working directory and whether the user is root', () => {
  expect(thisHost()).toMatchObject({ cwd: process.cwd(), isRoot: process.getuid?.() === 0 });
});
