import { expect, test } from '@jest/globals';
import { podPaths } from '../../../../src/agent/runtime/volumes/pod-paths.ts';

const paths = podPaths('/pods', 'u-1');

test('the files of a pod are at the paths of the kubelet', () => {
  expect(paths.podDir).toBe('/pods/u-1');
  expect(paths.volume('emptyDir', 'data')).toBe('/pods/u-1/volumes/kubernetes.io~empty-dir/data');
  expect(paths.terminationDir('main')).toBe('/pods/u-1/containers/main');
  expect(paths.subPath('data', 'main', 2)).toBe('/pods/u-1/volume-subpaths/data/main/2');
  expect([paths.hostsFile, paths.startTimeFile]).toEqual(['/pods/u-1/etc-hosts', '/pods/u-1/start-time']);
});

test.each(['', '.', '..', 'a/b', 'a\0'])('%j cannot be the name of a folder', (name) => {
  const refused = 'cannot be the name of a folder';
  expect(() => podPaths('/pods', name)).toThrow(refused);
  expect(() => paths.volume('emptyDir', name)).toThrow(refused);
  expect(() => paths.terminationDir(name)).toThrow(refused);
  expect(() => paths.subPath('data', name, 0)).toThrow(refused);
});
