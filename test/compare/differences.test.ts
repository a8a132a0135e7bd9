import { describe, expect, test } from '@jest/globals';
import { differences } from '../../scripts/compare/differences.ts';

const found = (kubelet: unknown, statelet: unknown) =>
  differences({ a: { status: kubelet } }, { a: { status: statelet } }).map(
    ({ path, kubelet: theirs, statelet: ours }) => [path, theirs, ours],
  );

describe('finding differences', () => {
  test('has manifest, area, path and both values', () => {
    expect(
      differences({ a: { status: { phase: 'Running' } } }, { a: { status: { phase: 'Failed' } } }),
    ).toEqual([{ manifest: 'a', area: 'status', path: 'phase', kubelet: '"Running"', statelet: '"Failed"' }]);
  });

  test('finds none where only the order of keys differs', () => {
    expect(found({ a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } })).toEqual([]);
    expect(found([[{ b: 1, c: 2 }]], [[{ c: 2, b: 1 }]])).toEqual([]);
  });

  test('shows what only one of them has', () => {
    expect(found({ only: 1 }, {})).toEqual([['only', '1', undefined]]);
    expect(found(undefined, { ours: 1 })).toEqual([['', undefined, '{"ours":1}']]);
  });

  test('compares elements by their names, and reports once that their order differs', () => {
    const [one, two] = [
      { name: 'one', ready: true },
      { name: 'two', ready: true },
    ];
    expect(found([one, two], [{ ...two, ready: false }, one])).toEqual([
      ['[two]/ready', 'true', 'false'],
      ['<order>', '["[one]","[two]"]', '["[two]","[one]"]'],
    ]);
  });

  test('compares lists as a whole whose elements have no names, or the same one twice', () => {
    expect(found(['a', 'b'], ['b', 'a'])).toEqual([['', '["a","b"]', '["b","a"]']]);
    const twice = [{ name: 'a', value: 1 }, { name: 'a' }];
    expect(found(twice, [])).toEqual([['', '[{"name":"a","value":1},{"name":"a"}]', '[]']]);
  });

  test('says of a pod that only one accepts nothing but that', () => {
    const kubelet = { a: { accepted: false } };
    const statelet = { a: { accepted: true, status: { phase: 'Running' }, calls: ['RunPodSandbox'] } };
    expect(differences(kubelet, statelet)).toEqual([
      { manifest: 'a', area: 'accepted', path: '', kubelet: 'false', statelet: 'true' },
    ]);
  });

  test('looks at manifests that only one of them knows', () => {
    expect(differences({}, { b: { logs: { 'main/0': [] } } })).toEqual([
      { manifest: 'b', area: 'logs', path: '', kubelet: undefined, statelet: '{"main/0":[]}' },
    ]);
  });
});
