import { expect, test } from '@jest/globals';
import { contentChanges } from '../../../src/simulation/plan/content-changes.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';

test('objects are made, changed, made immutable and deleted, in the order of time', () => {
  const all = [...contentChanges(seededRandom(1), { hours: 10 })];
  const times = all.map(({ atMs }) => atMs);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  const kinds = all.map(({ change }) =>
    change.kind === 'set object'
      ? `set${change.immutable ? ' immutable' : ''} ${change.resource}`
      : change.kind,
  );
  expect(new Set(kinds)).toEqual(
    new Set([
      'set configmaps',
      'set secrets',
      'set immutable configmaps',
      'set immutable secrets',
      'delete object',
    ]),
  );
});
