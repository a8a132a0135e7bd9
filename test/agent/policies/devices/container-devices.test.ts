import { expect, test } from '@jest/globals';
import { containerDevices } from '../../../../src/agent/policies/devices/container-devices.ts';
import { devicesStatus } from '../../../../src/agent/policies/devices/device-health.ts';
import { deviceList } from '../../../../src/agent/policies/devices/device-list.ts';
import { withHeldDevices, withPluginResources } from '../../../../src/agent/policies/devices/node-devices.ts';

const NOTHING = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };

test('of two answers with the same name the first one counts', () => {
  const device = (hostPath: string) => ({ containerPath: '/dev/gpu', hostPath, permissions: 'rw' });
  const added = containerDevices([
    { ...NOTHING, envs: { A: '1' }, devices: [device('/dev/gpu0')], cdiDevices: [{ name: 'x/gpu=0' }] },
    {
      ...NOTHING,
      envs: { A: '2', B: '3' },
      devices: [device('/dev/gpu1')],
      cdiDevices: [{ name: 'x/gpu=0' }],
    },
  ]);
  expect(added).toMatchObject({
    envs: [
      { key: 'A', value: '1' },
      { key: 'B', value: '3' },
    ],
    devices: [device('/dev/gpu0')],
    cdiDevices: [{ name: 'x/gpu=0' }],
  });
});

test('a device that no plugin lists has unknown health', () => {
  const { devices } = deviceList([
    { ID: 'a', health: 'Healthy' },
    { ID: 'b', health: 'hot' },
  ]);
  const status = devicesStatus([
    { resource: 'x/z', ids: ['q'], devices: undefined },
    { resource: 'x/a', ids: ['c', 'b', 'a'], devices },
  ]);
  expect(status.map(({ name, resources = [] }) => [name, resources.map(({ health }) => health)])).toEqual([
    ['x/a', ['Healthy', 'Unhealthy', 'Unknown']],
    ['x/z', ['Unknown']],
  ]);
});

test('devices that containers hold stay allocatable, and a forgotten resource is 0 unless it is configured', () => {
  expect(
    withHeldDevices(
      { 'x/a': '0', 'x/b': '4' },
      new Map([
        ['x/a', 1],
        ['x/b', 2],
      ]),
    ),
  ).toEqual({
    'x/a': '1',
    'x/b': '4',
  });
  const configured = { capacity: { 'x/a': '3' }, allocatable: { 'x/a': '3' }, removed: [] };
  const plugins = { capacity: { 'x/b': '2' }, allocatable: { 'x/b': '1' }, removed: ['x/a', 'x/c'] };
  expect(withPluginResources(configured, plugins)).toEqual({
    capacity: { 'x/a': '3', 'x/b': '2' },
    allocatable: { 'x/a': '3', 'x/b': '1' },
    removed: ['x/c'],
  });
});
