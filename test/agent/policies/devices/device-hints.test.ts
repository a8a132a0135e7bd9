import { expect, test } from '@jest/globals';
import { deviceHints } from '../../../../src/agent/policies/devices/device-hints.ts';
import { deviceList } from '../../../../src/agent/policies/devices/device-list.ts';

const on = (ID: string, node: number) => ({ ID, health: 'Healthy', topology: { nodes: [{ ID: node }] } });
const { devices } = deviceList([on('a', 0), on('b', 0), on('c', 1)]);
const request = {
  devices,
  held: [],
  allocated: new Set<string>(),
  reusable: new Set<string>(),
  numaNodes: [0, 1, 2],
};

test('hints name the sets of nodes that have enough, and prefer the smallest ones', () => {
  expect(deviceHints({ ...request, count: 2 })).toEqual([
    { numaNodes: [0], preferred: true },
    { numaNodes: [0, 1], preferred: false },
  ]);
  expect(deviceHints({ ...request, count: 2, allocated: new Set(['a']) })).toEqual([
    { numaNodes: [0, 1], preferred: false },
  ]);
});

test('a container that has its devices gets the nodes of these devices, and no hint if it requests another number', () => {
  expect(deviceHints({ ...request, count: 1, held: ['c'], allocated: new Set(['c']) })).toEqual([
    { numaNodes: [1], preferred: true },
    { numaNodes: [0, 1], preferred: false },
  ]);
  expect(deviceHints({ ...request, count: 2, held: ['c'] })).toEqual([]);
  expect(deviceHints({ ...request, count: 4 })).toEqual([]);
});

test('nodes that the machine does not have are ignored: if a plugin names only such nodes, no set of nodes has enough', () => {
  const strange = deviceList([
    on('a', 0),
    on('b', 7),
    ...Array.from({ length: 60 }, (_, node) => on('c', node)),
  ]);
  expect(deviceHints({ ...request, devices: strange.devices, count: 1, numaNodes: [0] })).toEqual([
    { numaNodes: [0], preferred: true },
  ]);
  const elsewhere = deviceList([on('a', 7)]).devices;
  expect(deviceHints({ ...request, devices: elsewhere, count: 1, numaNodes: [0] })).toEqual([]);
});

test('devices without NUMA nodes have no preference', () => {
  const plain = deviceList([{ ID: 'a', health: 'Healthy' }]).devices;
  expect(deviceHints({ ...request, devices: plain, count: 1 })).toBeUndefined();
});
