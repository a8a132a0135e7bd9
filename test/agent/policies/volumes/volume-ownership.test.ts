import { describe, expect, test } from '@jest/globals';
import {
  groupChanges,
  needsChanges,
  podFsGroup,
  readOnlyFileMode,
  readOnlyFolderMode,
  volumeRootMode,
} from '../../../../src/agent/policies/volumes/volume-ownership.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

const octal = (mode: number) => mode.toString(8);

test('the group of volumes is the fsGroup of the pod', () => {
  expect(podFsGroup(podOf({ securityContext: { fsGroup: 0 } }))).toBe(0);
  expect(podFsGroup(podOf())).toBeUndefined();
});

describe('without an fsGroup', () => {
  test('all users may write into the root of a volume; folders and files keep their modes', () => {
    const modes = [
      volumeRootMode(undefined),
      readOnlyFolderMode(undefined),
      readOnlyFileMode(0o400, undefined),
    ];
    expect(modes.map(octal)).toEqual(['777', '755', '400']);
  });
});

describe('with an fsGroup', () => {
  test('files made in the root of a volume, and in its folders, belong to the group', () => {
    expect([volumeRootMode(1000), readOnlyFolderMode(0)].map(octal)).toEqual(['2777', '2755']);
  });

  test('the owner and the group may read every file', () => {
    expect([0o400, 0o000, 0o644, 0o111].map((mode) => octal(readOnlyFileMode(mode, 1000)))).toEqual([
      '440',
      '440',
      '644',
      '551',
    ]);
  });
});

const file = (mode: number, gid = 0) => ({ gid, mode, isFolder: false, isLink: false });

const folder = (mode: number, gid = 0) => ({ ...file(mode, gid), isFolder: true });

test('a file gets the group, and may be read and written by owner and group; other bits stay', () => {
  expect(groupChanges(file(0o604), 7)).toEqual({ gid: 7, mode: 0o664 });
  expect(groupChanges(file(0o4711), 7)).toEqual({ gid: 7, mode: 0o4771 });
  expect(groupChanges(file(0o660, 7), 7)).toEqual({});
});

test('new files in a folder get the group, too', () => {
  expect(groupChanges(folder(0o700), 7)).toEqual({ gid: 7, mode: 0o2770 });
  expect(groupChanges(folder(0o2775, 7), 7)).toEqual({});
});

test('a link has no mode of its own', () => {
  expect(groupChanges({ gid: 0, mode: 0o777, isFolder: false, isLink: true }, 7)).toEqual({ gid: 7 });
});

test('OnRootMismatch leaves a volume alone whose root is right', () => {
  expect(needsChanges(folder(0o2770, 7), 7, 'OnRootMismatch')).toBe(false);
  expect(needsChanges(folder(0o2770, 7), 7, 'Always')).toBe(true);
  expect(needsChanges(folder(0o2770, 7), 7, undefined)).toBe(true);
  expect(needsChanges(folder(0o2770, 8), 7, 'OnRootMismatch')).toBe(true);
  expect(needsChanges(folder(0o770, 7), 7, 'OnRootMismatch')).toBe(true);
  expect(needsChanges(file(0o660, 7), 7, 'OnRootMismatch')).toBe(true);
});
