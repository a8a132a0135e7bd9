import { describe, expect, test } from '@jest/globals';
import {
  cleanPath,
  FilesSize,
  payloadPathProblem,
  topLevelNames,
  volumePayload,
} from '../../../../src/agent/policies/volumes/projected-files.ts';

describe('the files of a volume', () => {
  const file = (path: string, text = '') => ({ path, content: text, mode: 0o644 });

  test('of two files with one path the later one counts', () => {
    const payload = volumePayload([file('a/b', '1'), file('c'), file('./a//b', '2')]);
    expect([...payload.keys()]).toEqual(['a/b', 'c']);
    expect(payload.get('a/b')?.content).toBe('2');
    expect([...topLevelNames(payload)]).toEqual(['a', 'c']);
  });

  test.each([
    ['', 'must not be empty: ""'],
    ['.', 'must name a file below the volume: .'],
    ['/a', 'must be relative path: /a'],
    ['../a', "must not contain '..': ../a"],
    ['a/../b', "must not contain '..': a/../b"],
    ['..data', "must not start with '..': ..data"],
    ['..a/b', "must not start with '..': ..a/b"],
    ['./..data', "must not start with '..': ./..data"],
    ['a\0b', 'must not have a NUL character'],
    ['é'.repeat(128), 'filenames must be less than or equal to 255 characters'],
    ['x/'.repeat(3000), 'must be less than or equal to 4096 characters'],
  ])('the path %.20j is refused in the words of the kubelet', (path, problem) => {
    expect(() => volumePayload([file(path)])).toThrow(new Error(`invalid path: ${problem}`));
  });
});

test('the kubelet itself accepts paths that it cannot write, or that hit its own files', () => {
  expect(['.', './..data', 'a\0b'].map(payloadPathProblem)).toEqual([undefined, undefined, undefined]);
});

test.each([
  ['a/b', 'a/b'],
  ['./a//b/.', 'a/b'],
  ['a/../b', 'b'],
  ['../a', '../a'],
  ['a/../../../b', '../../b'],
  ['/../a', '/a'],
  ['a/..', '.'],
  ['', '.'],
  ['/', '/'],
])('the shortest form of %j is %j', (path, wanted) => {
  expect(cleanPath(path)).toBe(wanted);
});

const MIB = 1024 * 1024;

const files = (bytes: number) => [{ path: 'f', content: new Uint8Array(bytes), mode: 0o644 }];

test('a volume may have 32 MiB of files, from whatever sources; more is an error that names the volume', () => {
  const size = new FilesSize({ name: 'all' });
  const first = files(31 * MIB);
  expect(size.withinLimit(first)).toBe(first);
  expect(size.withinLimit(files(MIB))).toHaveLength(1);
  expect(() => size.withinLimit(files(1))).toThrow(
    'volume "all" has more than 32 MiB of files from ConfigMaps, Secrets and the pod; leave some of its sources or items out',
  );
});
