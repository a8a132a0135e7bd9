import { expect, test } from '@jest/globals';
import { byNumaNode, deviceList } from '../../../../src/agent/policies/devices/device-list.ts';

test('devices without a usable ID are left out, and of two with one ID the later one counts', () => {
  const listed = [
    { ID: 'a', health: 'Healthy' },
    { ID: '', health: 'Healthy' },
    { ID: 'x'.repeat(2000), health: 'Healthy' },
    { ID: 'a', health: 'Unhealthy', topology: { nodes: [{ ID: 1 }, { ID: 0 }, { ID: -4 }] } },
  ];
  const { devices, refused } = deviceList(listed);
  expect([...devices]).toEqual([['a', { isHealthy: false, numaNodes: [0, 1] }]]);
  expect(refused).toBe(2);
  expect([...byNumaNode(['a', 'gone'], devices)]).toEqual([
    [0, ['a']],
    [1, ['a']],
    [-1, ['gone']],
  ]);
});
