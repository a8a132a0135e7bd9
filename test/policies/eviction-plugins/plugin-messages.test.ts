import { expect, test } from '@jest/globals';
import {
  conditionNews,
  noticeMessage,
  thresholdText,
} from '../../../src/policies/eviction-plugins/plugin-messages.ts';
import { condition, met } from '../../support/eviction-plugins.ts';

test('a notice says which plugin would have the pod evicted, and why; a book is cut', () => {
  expect(noticeMessage({ plugin: 'p', reason: 'it is old' })).toBe(
    'Plugin p would have this pod evicted: it is old. It is told instead, by its annotation katalyst.kubewharf.io/pod_soft_evict_notify',
  );
  expect(noticeMessage({ plugin: 'p', reason: 'x'.repeat(10_000) }).length).toBeLessThan(1_024);
});

test('a confirmed threshold is told with its values', () => {
  expect(thresholdText('p', met({ gracePeriodSeconds: 5, observedValue: 0.25 }))).toBe(
    'the threshold of p in scope memory has been met for its grace period of 5 s: target 10, observed 0.25',
  );
});

test('conditions are told when they come and when they go', () => {
  const [hot, warm] = [condition('Hot'), condition('Warm', { effects: [] })];
  expect(conditionNews([], [hot, warm])).toEqual([
    'condition Hot holds (NoSchedule)',
    'condition Warm holds (no effects)',
  ]);
  expect(conditionNews([hot, warm], [condition('Hot', { effects: ['NoExecute'] })])).toEqual([
    'condition Warm is over',
  ]);
});
