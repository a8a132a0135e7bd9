import { describe, expect, test } from '@jest/globals';
import {
  mayExist,
  nodePatch,
  reconcileExisting,
  registrationDelayMs,
  registrationPatch,
} from '../../../../src/agent/policies/node/registration.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { registeredNode } from '../../../support/node-status-facts.ts';

test('a try waits 100 ms, and after failures longer, up to 7 s', () => {
  expect([0, 1, 2, 6, 7, 100].map(registrationDelayMs)).toEqual([100, 200, 400, 6400, 7000, 7000]);
});

test('an object that could not be created may exist if the server says so, or if the node may not create it', () => {
  expect([mayExist('AlreadyExists'), mayExist('PermissionDenied'), mayExist('Unavailable')]).toEqual([
    true,
    true,
    false,
  ]);
});

const EXISTING: Node = {
  metadata: { name: 'node-1', labels: { zone: 'a' } },
  spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
  status: { capacity: { cpu: '4' }, allocatable: { cpu: '4' } },
};

describe('the patch of a registration', () => {
  test('is none where the object fits', () => {
    expect(registrationPatch(EXISTING, EXISTING, false)).toBeUndefined();
  });

  test('adds the labels of the node, and takes no taints and no spec', () => {
    const initial = {
      ...EXISTING,
      metadata: { name: 'node-1', labels: { 'kubernetes.io/os': 'linux' } },
      spec: {},
    };
    expect(registrationPatch(initial, EXISTING, false)).toEqual({
      metadata: { labels: { 'kubernetes.io/os': 'linux' } },
    });
  });
});

describe('the patch of a report', () => {
  test('has only what differs', () => {
    const conditions = [{ type: 'Ready', status: 'True' }];
    const after = { ...EXISTING, spec: { unschedulable: true }, status: { ...EXISTING.status, conditions } };
    expect(nodePatch(EXISTING, after)).toEqual({ status: { conditions } });
    expect(nodePatch(EXISTING, EXISTING)).toEqual({});
  });

  test('replaces changed addresses as a whole: several may have one type, which is their key on the server', () => {
    const node = (address: string): Node => ({
      ...EXISTING,
      status: { addresses: [{ type: 'InternalIP', address }] },
    });
    expect(nodePatch(node('10.0.0.1'), node('10.0.0.2'))).toEqual({
      status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }, { $patch: 'replace' }] },
    });
  });

  test('adds a whole status to an object without one', () => {
    expect(nodePatch({ metadata: { name: 'node-1' } }, EXISTING)).toMatchObject({ status: EXISTING.status });
  });
});

const initial = registeredNode();

describe('a node that registers and exists already', () => {
  test('is not changed if all is as it should be', () => {
    expect(reconcileExisting(initial, initial, false)).toEqual({ node: initial, changed: false });
  });

  test('takes over annotation, labels and huge pages; spec and other labels stay', () => {
    const existing: Node = {
      metadata: { name: 'node-1', uid: 'u-1', labels: { role: 'db', 'kubernetes.io/arch': 'arm64' } },
      spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      status: {
        capacity: { cpu: '2', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '2' },
        allocatable: { cpu: '2', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '2' },
      },
    };
    const { node, changed } = reconcileExisting(initial, existing, false);
    expect(changed).toBe(true);
    expect(node).toEqual({
      metadata: {
        name: 'node-1',
        uid: 'u-1',
        annotations: initial.metadata.annotations,
        labels: { ...initial.metadata.labels, role: 'db' },
      },
      spec: existing.spec,
      status: {
        capacity: { cpu: '2', 'hugepages-2Mi': '1Gi', 'example.com/gpu': '2' },
        allocatable: { cpu: '2', 'hugepages-2Mi': '1Gi', 'example.com/gpu': '2' },
      },
    });
  });

  test('gives out no extended resource until its plugin is known again', () => {
    const gpu = { 'example.com/gpu': '2' };
    const existing = { ...initial, status: { capacity: gpu, allocatable: gpu } };
    const { status } = reconcileExisting(initial, existing, true).node;
    expect(status).toMatchObject({
      capacity: { 'example.com/gpu': '0' },
      allocatable: { 'example.com/gpu': '0' },
    });
  });
});
