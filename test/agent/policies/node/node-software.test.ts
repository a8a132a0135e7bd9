import { expect, test } from '@jest/globals';
import {
  runtimeVersionText,
  withImages,
  withPlatform,
  withVersions,
} from '../../../../src/agent/policies/node/node-software.ts';

test.each([
  ['1.7.24', '1.7.24'],
  ['v2.1.0', '2.1.0'],
  ['v2.1.0-rc.1+build.5', '2.1.0-rc.1+build.5'],
  ['1.6.20~ds1', '1.6.20'],
  ['1.7', '1.7'],
  ['main', undefined],
  ['', undefined],
])('the version "%s" of a runtime is shown as %s', (version, shown) => {
  expect(runtimeVersionText(version)).toBe(shown);
});

test('the largest images come first; of equal ones the larger id', () => {
  const image = (id: string, size: number) => ({ id, size, repoTags: [id] });
  const images = [image('b', 1), image('c', 1), image('a', 2), image('d', 0)];
  const { status } = withImages({ metadata: { name: 'n' } }, images, 3);
  expect(status?.images?.map(({ names }) => names)).toEqual([['a'], ['c'], ['b']]);
});

test('operating system and architecture are known also of a machine that could not be asked', () => {
  const node = withPlatform(withVersions({ metadata: { name: 'n' } }, undefined), {
    os: 'linux',
    arch: 'arm64',
  });
  expect(node.status?.nodeInfo).toMatchObject({
    operatingSystem: 'linux',
    architecture: 'arm64',
    bootID: '',
  });
});
