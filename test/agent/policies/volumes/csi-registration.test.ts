import { expect, test } from '@jest/globals';
import {
  allocatablePeriodMs,
  driverLabels,
  newCsiNode,
  type RegisteredCsiDriver,
  withDriver,
  withoutDriver,
  withoutNodeId,
} from '../../../../src/agent/policies/volumes/csi-registration.ts';
import type { CSINode, Node } from '../../../../src/types/kubernetes.ts';

const ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const DISK: RegisteredCsiDriver = {
  name: 'disk',
  nodeId: 'n1',
  maxVolumes: 3,
  topology: { 'disk/rack': 'r1' },
};
const node = (annotations = {}, labels = {}): Node => ({ metadata: { name: 'a', annotations, labels } });
const entry = { name: 'disk', nodeID: 'n1', topologyKeys: ['disk/rack'], allocatable: { count: 3 } };

test('the period in which a driver is asked again is within bounds', () => {
  const period = (nodeAllocatableUpdatePeriodSeconds: number) =>
    allocatablePeriodMs({ spec: { nodeAllocatableUpdatePeriodSeconds } });
  expect([period(60), period(1), period(1e9), period(0)]).toEqual([60_000, 10_000, 86_400_000, undefined]);
  expect([allocatablePeriodMs(undefined), allocatablePeriodMs({ spec: {} })]).toEqual([undefined, undefined]);
});

test('the Node gets the ID that the driver gave it, beside those of others, and the labels of its topology', () => {
  expect(driverLabels(node({ [ANNOTATION]: '{"other":"x"}' }), DISK)).toEqual({
    metadata: { annotations: { [ANNOTATION]: '{"other":"x","disk":"n1"}' }, labels: { 'disk/rack': 'r1' } },
  });
  expect(driverLabels(node({ [ANNOTATION]: '{"disk":"n1"}' }, { 'disk/rack': 'r1' }), DISK)).toBeUndefined();
  expect(driverLabels(node({ [ANNOTATION]: 'broken' }, { 'disk/rack': 'r1' }), DISK)).toMatchObject({
    metadata: { annotations: { [ANNOTATION]: '{"disk":"n1"}' } },
  });
});

test('a label that says something else is not replaced', () => {
  expect(() => driverLabels(node({}, { 'disk/rack': 'r2' }), DISK)).toThrow(
    'detected topology value collision: driver reported "disk/rack":"r1" but existing label is "disk/rack":"r2"',
  );
});

test('a driver that goes takes only what is its own', () => {
  expect(withoutNodeId(node({ [ANNOTATION]: '{"other":"x","disk":"n1"}' }), 'disk')).toEqual({
    metadata: { annotations: { [ANNOTATION]: '{"other":"x"}' } },
  });
  expect(withoutNodeId(node({ [ANNOTATION]: '{"disk":"n1"}' }), 'disk')).toEqual({
    metadata: { annotations: { [ANNOTATION]: null } },
  });
  expect(withoutNodeId(node(), 'disk')).toBeUndefined();
});

test('the CSINode has each driver once, as it is now', () => {
  const fresh = newCsiNode('a', 'uid-a');
  const first = withDriver(fresh, DISK) ?? fresh;
  expect(first.spec.drivers).toEqual([entry]);
  expect(withDriver(first, DISK)).toBeUndefined();
  const unlimited = withDriver(first, { ...DISK, maxVolumes: 0 })?.spec.drivers;
  expect(unlimited).toEqual([{ name: 'disk', nodeID: 'n1', topologyKeys: ['disk/rack'] }]);
  expect(withoutDriver(first, 'disk')?.spec.drivers).toEqual([]);
  expect(withoutDriver(fresh, 'disk')).toBeUndefined();
});

test('a server that leaves an empty list out is understood', () => {
  const bare = { ...newCsiNode('a', 'uid-a'), spec: {} } as CSINode;
  expect(withDriver(bare, DISK)?.spec.drivers).toEqual([entry]);
  expect(withoutDriver(bare, 'disk')).toBeUndefined();
  const plain = { ...DISK, topology: {} };
  const listed = JSON.parse(JSON.stringify(withDriver(bare, plain)).replace('[]', 'null')) as CSINode;
  expect(listed.spec.drivers[0]?.topologyKeys).toBeNull();
  expect(withDriver(listed, plain)).toBeUndefined();
});
