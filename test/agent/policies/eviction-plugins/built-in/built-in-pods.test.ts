import { expect, test } from '@jest/globals';
import {
  victimsByUse,
  memoryGracePeriod,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-pods.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const reclaimed = 'reclaimed_cores' as const;
const small = qosPod('small', { level: reclaimed, priority: 10 });
const large = qosPod('large', { level: reclaimed, priority: 10 });
const dear = qosPod('dear', { level: reclaimed, priority: 20 });
const web = qosPod('web', { priority: 0 });
const plain = qosPod('plain');
const BYTES: Readonly<Record<string, number>> = { small: 1, large: 5, dear: 9, web: 100, plain: 50 };
const usedBytes = ({ metadata }: typeof web) => BYTES[metadata.name];

test('reclaimed pods go first, then those of lower priority, then those with more memory', () => {
  const pods = [web, small, dear, plain, large];
  expect(podNames(victimsByUse(pods, 'any', usedBytes))).toEqual(['large', 'small', 'dear', 'plain', 'web']);
});

test('if only reclaimed pods may be evicted, no other pod is named', () => {
  expect(podNames(victimsByUse([web, small, plain], 'reclaimed', usedBytes))).toEqual(['small']);
});

test('pods without measurements come before those with measurements, in the order in which they were given', () => {
  const pods = [
    small,
    qosPod('new', { level: reclaimed, priority: 10 }),
    qosPod('newer', { level: reclaimed, priority: 10 }),
  ];
  expect(podNames(victimsByUse(pods, 'any', usedBytes))).toEqual(['new', 'newer', 'small']);
});

test('pods of the system and critical ones are never named', () => {
  const spared = [
    qosPod('system', { level: 'system_cores' }),
    qosPod('critical', { priority: 2_000_000_000 }),
  ];
  expect(victimsByUse(spared, 'any', () => 1)).toEqual([]);
});

test('if any pod may be evicted, each has its own grace period; reclaimed pods have a second', () => {
  const settings = { reclaimedGracePeriodSeconds: 1, gracePeriodSeconds: -1 };
  expect(memoryGracePeriod('reclaimed', settings)).toBe(1);
  expect(memoryGracePeriod('any', settings)).toBeUndefined();
});
