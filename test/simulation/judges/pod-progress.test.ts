import { describe, expect, test } from '@jest/globals';
import { EndOrders } from '../../../src/simulation/judges/pod-progress.ts';
import { testPod } from '../../support/pods.ts';
import { killed } from './lifecycle-judge-bed.ts';

describe('the shortest grace period counts', () => {
  test('of all kills, and of a deletion', () => {
    const orders = new EndOrders();
    expect(orders.graceSeconds).toBe(Infinity);
    orders.take(killed(30));
    orders.take({ type: 'SyncPodUpdate', pod: testPod({ deletionGracePeriodSeconds: 7 }) });
    orders.take(killed(60));
    expect(orders.graceSeconds).toBe(7);
  });

  test('and is at least 1 s (rule 4)', () => {
    const orders = new EndOrders();
    orders.take(killed(0));
    expect(orders.graceSeconds).toBe(1);
  });

  test('a kill without a grace period changes nothing', () => {
    const orders = new EndOrders();
    orders.take(killed());
    expect(orders.graceSeconds).toBe(Infinity);
  });
});

test('the evicted flag is kept (rule 2)', () => {
  const orders = new EndOrders();
  orders.take(killed(5, { evict: true }));
  orders.take(killed(5));
  expect(orders.evicted).toBe(true);
});

test('the status of the last kill that gave one counts (rule 5)', () => {
  const orders = new EndOrders();
  orders.take(killed(5, { podStatus: { reason: 'Preempting' } }));
  orders.take(killed(5, { podStatus: { reason: 'Evicted' } }));
  orders.take(killed(5));
  expect(orders.status).toEqual({ reason: 'Evicted' });
});
