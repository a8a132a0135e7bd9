import { expect, test } from '@jest/globals';
import { hashOf, placeOf, placeWith } from '../../../src/page/browser/page-times.ts';
import { ALL_PODS, choiceOf, queryOf } from '../../../src/page/browser/pod-list.ts';

test('an address says a place, and a place its address', () => {
  for (const hash of ['#/', '#/pod/a%2Fb/c%3F?zoom=1h', '#/?search=a+%26%3F&state=Syncing.Settled'])
    expect(hashOf(placeOf(hash))).toBe(hash);
  expect(placeOf('#/pod/default/web?zoom=1h').parts).toEqual(['pod', 'default', 'web']);
  expect(placeOf('').parts).toEqual([]);
  expect(placeOf('#/pod/%zz').parts).toEqual(['pod', '%zz']);
});

test('changing one field of the query keeps the others', () => {
  const place = placeOf('#/chart/probe?actor=a');
  expect(hashOf(placeWith(place, 'zoom', 'all'))).toBe('#/chart/probe?actor=a&zoom=all');
  expect(hashOf(placeWith(place, 'actor', ''))).toBe('#/chart/probe');
});

test('a choice of pods is a query, without what is as usual', () => {
  expect(queryOf(ALL_PODS).toString()).toBe('');
  const choices = [
    ALL_PODS,
    { ...ALL_PODS, search: 'web & api', show: 'attention' } as const,
    { ...ALL_PODS, column: 'restarts', isDescending: true } as const,
    { ...ALL_PODS, isDescending: true },
  ];
  for (const choice of choices) expect(choiceOf(queryOf(choice))).toEqual(choice);
  expect(choiceOf(new URLSearchParams('sort=-nonsense&show=toString'))).toEqual(ALL_PODS);
});
