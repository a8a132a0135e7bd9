import { describe, expect, test } from '@jest/globals';
import {
  mayExist,
  nodePatch,
  registrationDelayMs,
  registrationPatch,
} from '../../../src/policies/node-status/registration.ts';
import type { Node } from '../../../src/types/kubernetes.ts';

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
