import { expect, test } from '@jest/globals';
import { groupChanges, needsChanges } from '../../../../src/policies/volumes/claims/group-permissions.ts';

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
