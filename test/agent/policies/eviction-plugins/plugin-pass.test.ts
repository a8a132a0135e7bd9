import { expect, test } from '@jest/globals';
import {
  confirmedThresholds,
  observeConditions,
  observeThresholds,
  standingConditions,
} from '../../../../src/agent/policies/eviction-plugins/plugin-pass.ts';

const met = (gracePeriodSeconds: number) => new Map([['rss', { gracePeriodSeconds }]]);

test('a threshold counts once its grace period is over, and from the start after a break', () => {
  const first = observeThresholds(met(10), new Map(), 1000);
  const second = observeThresholds(met(10), first, 10_999);
  expect([...confirmedThresholds(second, 10_999).keys()]).toEqual([]);
  expect([...confirmedThresholds(second, 11_000).keys()]).toEqual(['rss']);
  const afterBreak = observeThresholds(met(10), observeThresholds(new Map(), second, 12_000), 13_000);
  expect(afterBreak.get('rss')?.firstObservedAt).toBe(13_000);
});

test('a condition lasts until the transition period after its last observation is over', () => {
  const seen = observeConditions(new Map([['full', 'yes']]), new Map(), 1000);
  const later = observeConditions(new Map<string, string>(), seen, 5000);
  expect([...standingConditions(later, 5000, 5999).keys()]).toEqual(['full']);
  expect([...standingConditions(later, 5000, 6000).keys()]).toEqual([]);
});
