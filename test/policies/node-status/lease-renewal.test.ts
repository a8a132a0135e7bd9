import { describe, expect, test } from '@jest/globals';
import {
  leaseBackOffMs,
  renewalDelayMs,
  renewedLease,
} from '../../../src/policies/node-status/lease-renewal.ts';

const FACTS = { nodeName: 'node-1', nodeUid: 'a', leaseDurationSeconds: 40, now: Date.UTC(2030, 0, 1) + 1.5 };
const OWNER = { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'a' };

test('a renewal comes after a quarter of the duration, and up to 4 % later', () => {
  expect([renewalDelayMs(40, 0), renewalDelayMs(40, 0.5), renewalDelayMs(10, 0)]).toEqual([
    10_000, 10_200, 2_500,
  ]);
});

test('after failures the lease is read again after 0.2 s, doubling to 7 s', () => {
  expect([1, 2, 3, 6, 7, 100].map(leaseBackOffMs)).toEqual([200, 400, 800, 6400, 7000, 7000]);
});

describe('a lease', () => {
  test('that is new is held and owned by the node, and has its time in microseconds', () => {
    expect(renewedLease(undefined, FACTS)).toEqual({
      metadata: { name: 'node-1', namespace: 'kube-node-lease', ownerReferences: [OWNER] },
      spec: { holderIdentity: 'node-1', leaseDurationSeconds: 40, renewTime: '2030-01-01T00:00:00.001500Z' },
    });
  });

  test('that exists keeps its holder, its owner and its version', () => {
    const metadata = { name: 'node-1', resourceVersion: '7', ownerReferences: [{ ...OWNER, uid: 'b' }] };
    const renewed = renewedLease({ metadata, spec: { holderIdentity: 'other', leaseTransitions: 3 } }, FACTS);
    expect(renewed).toMatchObject({ metadata, spec: { holderIdentity: 'other', leaseTransitions: 3 } });
  });

  test('is renewed without the record of who manages its fields, which the server keeps', () => {
    const managedFields = [{ manager: 'statelet', operation: 'Update' }];
    const { metadata } = renewedLease({ metadata: { name: 'node-1', uid: 'l', managedFields } }, FACTS);
    expect(metadata).toEqual({ name: 'node-1', uid: 'l', ownerReferences: [OWNER] });
  });

  test('that has no owner gets one as soon as the Node object is known', () => {
    const base = { metadata: { name: 'node-1' } };
    expect(renewedLease(base, { ...FACTS, nodeUid: undefined }).metadata).toEqual({ name: 'node-1' });
    expect(renewedLease(base, FACTS).metadata).toEqual({ name: 'node-1', ownerReferences: [OWNER] });
  });
});
