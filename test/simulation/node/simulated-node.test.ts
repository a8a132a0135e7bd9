import { expect, test } from '@jest/globals';
import { SimulatedRuntime } from '../../../src/simulation/runtime/simulated-runtime.ts';
import { NO_NODE_FAULTS } from '../../../src/simulation/node/node-fault-draws.ts';
import type { SimulatedDisk } from '../../../src/simulation/node/simulated-disk.ts';
import { simulatedNode } from '../../../src/simulation/node/simulated-node.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { ALL_PODS } from '../../support/pod-search.ts';

const POD: Pod = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'app:1' }] },
};
const NEVER = new AbortController().signal;

function bed({ isAlive = true } = {}) {
  const clock = new VirtualClock(7);
  const disk: SimulatedDisk = new Map();
  const faults = { ...NO_NODE_FAULTS };
  const released: string[] = [];
  const node = simulatedNode({
    runtime: new SimulatedRuntime({ clock, random: () => 0.5 }).connect(),
    disk,
    clock,
    random: () => 0.5,
    faults: () => faults,
    onRelease: (uid) => released.push(uid),
    isAlive: () => isAlive,
  });
  return { node, disk, faults, released };
}

test('a pod is mounted once, and its folder outlives the release of its volumes', async () => {
  const { node, disk, released } = bed();
  await node.prepare(POD, NEVER);
  expect(disk.get('uid-web')).toMatchObject({ mounted: true, mountedAt: 7 });
  await node.release('uid-web');
  expect(released).toEqual(['uid-web']);
  expect(disk.get('uid-web')).toMatchObject({ mounted: false });
  expect(await node.podsOnDisk(ALL_PODS)).toEqual([{ uid: 'uid-web', name: '', namespace: '' }]);
});

test('a mount that fails has the error of a real node', async () => {
  const { node, faults } = bed();
  faults.mount = 1;
  await expect(node.prepare(POD, NEVER)).rejects.toMatchObject({ reason: 'FailedMount' });
});

test('while a volume is busy a removed pod keeps its folder', async () => {
  const { node, disk, faults } = bed();
  await node.prepare(POD, NEVER);
  faults.release = 1;
  await expect(node.remove(POD.metadata)).rejects.toThrow('the volume is busy');
  expect([...disk.keys()]).toEqual(['uid-web']);
  faults.release = 0;
  await node.remove(POD.metadata);
  expect(disk.size).toBe(0);
});

test('a start time is remembered until the pod is removed', async () => {
  const { node } = bed();
  expect(await node.startTime('uid-web', '2030-01-01T00:00:00Z')).toBe('2030-01-01T00:00:00Z');
  expect(await node.startTime('uid-web', '2031-01-01T00:00:00Z')).toBe('2030-01-01T00:00:00Z');
  await node.remove(POD.metadata);
  expect(await node.startTime('uid-web', '2031-01-01T00:00:00Z')).toBe('2031-01-01T00:00:00Z');
});

test('the number of instances of a container is remembered', () => {
  const { node } = bed();
  expect(node.pastInstances(POD.metadata, 'main')).toBe(0);
  node.created(POD.metadata, 'c1', { metadata: { name: 'main', attempt: 2 } } as never, '');
  expect(node.pastInstances(POD.metadata, 'main')).toBe(3);
});

test('a killed agent does not change the disk any more', async () => {
  const { node, disk } = bed({ isAlive: false });
  void node.prepare(POD, NEVER);
  await settled();
  expect(disk.size).toBe(0);
});
