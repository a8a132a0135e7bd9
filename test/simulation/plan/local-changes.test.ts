import { expect, test } from '@jest/globals';
import { leftRemains } from '../../../src/simulation/plan/local-changes.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';

test('a dozen times an hour something is left of pods that never were and of pods of all names, mounted or not', () => {
  const planned = [...leftRemains(seededRandom(1), { pods: 2, hours: 50 })];
  expect(planned.length / 50).toBeGreaterThan(9);
  expect(planned.length / 50).toBeLessThan(15);
  expect(new Set(planned.map(({ name }) => name))).toEqual(new Set(['', 'pod-1', 'pod-2']));
  expect(new Set(planned.map(({ change }) => change.mounted))).toEqual(new Set([true, false]));
  expect(planned.map(({ atMs }) => atMs)).toEqual(planned.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
});
