import { describe, expect, test } from '@jest/globals';
import { RuntimeCapabilities } from '../../../../src/agent/runtime/service/runtime-capabilities.ts';

const told = (runtimeName: string, runtimeVersion: string) =>
  new RuntimeCapabilities({
    version: () => Promise.resolve({ runtimeName, runtimeVersion, runtimeApiVersion: 'v1' }),
  });
const STATUS = { conditions: [], supplementalGroupsPolicy: false };

describe('what a runtime can do', () => {
  test('is what it said last, by handler; the default one has no name', () => {
    const capabilities = told('x', '1');
    const nothing = { recursiveReadOnlyMounts: false, userNamespaces: false };
    expect(capabilities.of()).toEqual(nothing);
    const features = { recursiveReadOnlyMounts: true, userNamespaces: false };
    capabilities.learn({ ...STATUS, handlers: [{ name: '', features }, { name: 'kata' }] });
    expect(capabilities.of()).toEqual(features);
    expect(capabilities.of('kata')).toEqual(nothing);
    capabilities.learn(STATUS);
    expect(capabilities.of()).toEqual(nothing);
  });

  test.each([
    ['containerd', '1.6.20~ds1'],
    ['containerd', 'v1.7.24'],
    ['containerd', '2.0.5'],
  ])('%s %s does not mount images, and is told so', async (name, version) => {
    await expect(told(name, version).imageVolumesProblem()).resolves.toMatchObject({
      kind: 'Unimplemented',
      message: `${name} ${version} cannot mount an image as a volume: that takes 2.1 or newer`,
    });
  });

  test.each([
    ['containerd', 'v2.1.0-rc.1'],
    ['containerd', '2.1.9+unknown'],
    ['containerd', '3.0'],
    ['containerd', 'unknown'],
    ['cri-o', '1.31.0'],
  ])('%s %s is taken to mount images', async (name, version) => {
    await expect(told(name, version).imageVolumesProblem()).resolves.toBeUndefined();
  });
});
