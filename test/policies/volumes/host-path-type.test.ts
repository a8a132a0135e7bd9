import { describe, expect, test } from '@jest/globals';
import { type FileKind, hostPathCheck } from '../../../src/policies/volumes/host-path-type.ts';

const KINDS: readonly (FileKind | undefined)[] = [
  'directory',
  'file',
  'socket',
  'character device',
  'block device',
  'other',
  undefined,
];

/** What a path may be so that the check passes. */
function accepted(type: string): (FileKind | undefined)[] {
  const check = hostPathCheck(type);
  return KINDS.filter((kind) => check?.problem('/data', kind) === undefined);
}

describe('the type of a hostPath volume', () => {
  test('"" checks nothing', () => {
    expect(hostPathCheck('')).toBeUndefined();
  });

  test.each([
    ['Directory', ['directory']],
    ['DirectoryOrCreate', ['directory']],
    ['Socket', ['socket']],
    ['CharDevice', ['character device']],
    ['BlockDevice', ['block device']],
  ])('%s accepts %j', (type, want) => {
    expect(accepted(type)).toEqual(want);
  });

  test.each(['File', 'FileOrCreate'])(
    '%s accepts, as the kubelet, everything that is no directory',
    (type) => {
      expect(accepted(type)).toEqual(['file', 'socket', 'character device', 'block device', 'other']);
    },
  );

  test.each([
    ['DirectoryOrCreate', { kind: 'directory', mode: 0o755 }],
    ['FileOrCreate', { kind: 'file', mode: 0o644 }],
    ['Directory', undefined],
    ['File', undefined],
  ])('%s makes %j where there is nothing', (type, want) => {
    expect(hostPathCheck(type)?.create).toEqual(want);
  });

  test('a path of another kind gives the message of the kubelet', () => {
    expect(hostPathCheck('Socket')?.problem('/run/x', 'file')).toBe(
      'hostPath type check failed: /run/x is not a socket file',
    );
  });

  test('an unknown type accepts nothing', () => {
    expect(accepted('Pipe')).toEqual([]);
    expect(hostPathCheck('Pipe')?.problem('/run/x', 'file')).toBe('Pipe is an invalid volume type');
  });
});
