import { describe, expect, test } from '@jest/globals';
import {
  clockDifferenceMs,
  clockProblem,
  leaseBackOffMs,
  renewalDelayMs,
  renewedLease,
} from '../../../../src/agent/policies/node/lease-renewal.ts';

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

const SERVER = 'Tue, 01 Jan 2030 12:00:00 GMT';

const at = (time: string) => Date.parse(`2030-01-01T${time}Z`);

test.each([
  ['the second of the answer is that of the server', '12:00:00.200', '12:00:00.900', 0],
  ['the server wrote it late in its second', '12:00:00.900', '12:00:01.100', 0],
  ['the answer was long under way, or this process stood still', '11:59:59', '12:09:00', 0],
  ['this machine is an hour ahead', '13:00:00', '13:00:02', 3_600_000],
  ['this machine is an hour behind', '10:59:59', '11:00:00', -3_600_000],
])('a difference is what no duration of the request explains: %s', (_, asked, got, expected) => {
  expect(clockDifferenceMs({ askedMs: at(asked), gotMs: at(got), date: SERVER })).toBe(expected);
});

test.each([undefined, 'yesterday', [SERVER, SERVER]])(
  'an answer without a valid time (%j) shows none',
  (date) => {
    expect(clockDifferenceMs({ askedMs: at('13:00:00'), gotMs: at('13:00:01'), date })).toBe(0);
  },
);

test('a minute and more is reported, with its direction', () => {
  expect([0, 59_999, -59_999].map(clockProblem)).toEqual([undefined, undefined, undefined]);
  expect(clockProblem(3_600_400)).toMatch(
    /^the clock of this machine is 1h ahead of that of the API server: /,
  );
  expect(clockProblem(-90_000)).toMatch(
    /^the clock of this machine is 1m30s behind that of the API server: /,
  );
});
