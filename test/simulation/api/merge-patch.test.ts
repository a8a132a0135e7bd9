/** The examples with conditions were tried on a real API server. */
import { describe, expect, test } from '@jest/globals';
import { applyMergePatch, type JsonObject } from '../../../src/simulation/api/merge-patch.ts';

const condition = (type: string, status = 'True') => ({ type, status });

function patched(conditions: readonly JsonObject[], status: JsonObject): unknown {
  return (applyMergePatch({ status: { conditions } }, { status }).status as JsonObject).conditions;
}

test('members are merged, null removes one, and other lists are replaced', () => {
  const original = {
    metadata: { labels: { a: '1', b: '2' }, args: ['x'] },
    status: { phase: 'Pending' },
  };
  const patch = {
    metadata: { labels: { b: null, c: '3' }, args: ['y'] },
    status: { phase: 'Running' },
  };
  expect(applyMergePatch(original, patch)).toEqual({
    metadata: { labels: { a: '1', c: '3' }, args: ['y'] },
    status: { phase: 'Running' },
  });
});

test('the original stays as it was', () => {
  const original = Object.freeze({
    status: Object.freeze({ conditions: Object.freeze([condition('Ready')]) }),
  });
  applyMergePatch(original, { status: { conditions: [condition('Ready', 'False'), condition('Other')] } });
  expect(original).toEqual({ status: { conditions: [condition('Ready')] } });
});

describe('a list of conditions', () => {
  test('keeps the items that the patch does not name', () => {
    expect(
      patched([condition('Gate'), condition('Ready')], { conditions: [condition('Ready', 'False')] }),
    ).toEqual([condition('Gate'), condition('Ready', 'False')]);
  });

  test('gets a new item in front, as a patch without an order says nothing of the others', () => {
    expect(patched([condition('Ready')], { conditions: [condition('Other')] })).toEqual([
      condition('Other'),
      condition('Ready'),
    ]);
  });

  test('is put in order by the patch, and items it does not name stay before those they came before', () => {
    const before = [condition('A'), condition('Gate'), condition('B'), condition('Last')];
    const order = [{ type: 'B' }, { type: 'A' }];
    expect(patched(before, { '$setElementOrder/conditions': order })).toEqual([
      condition('Gate'),
      condition('B'),
      condition('A'),
      condition('Last'),
    ]);
  });

  test('loses all items that the patch deletes', () => {
    const before = [condition('Ready'), condition('Ready', 'False'), condition('Other')];
    const conditions = [{ type: 'Ready', $patch: 'delete' }];
    expect(patched(before, { conditions })).toEqual([condition('Other')]);
  });

  test('is replaced where the patch says so', () => {
    const conditions = [condition('New'), { $patch: 'replace' }];
    expect(patched([condition('Ready')], { conditions })).toEqual([condition('New')]);
  });
});

test('an object is replaced or emptied where the patch says so', () => {
  expect(applyMergePatch({ a: { b: 1, c: 2 } }, { a: { $patch: 'replace', d: 3, e: null } })).toEqual({
    a: { d: 3 },
  });
  expect(applyMergePatch({ a: { b: 1, c: 2 } }, { a: { $retainKeys: ['c'], c: 3 } })).toEqual({
    a: { c: 3 },
  });
  expect(applyMergePatch({ a: { b: 1 } }, { a: { $patch: 'delete' } })).toEqual({ a: {} });
});

test('finalizers are merged, and one is removed by name', () => {
  const original = { metadata: { finalizers: ['x', 'y'] } };
  expect(applyMergePatch(original, { metadata: { finalizers: ['z'] } })).toEqual({
    metadata: { finalizers: ['x', 'y', 'z'] },
  });
  const dropped = { metadata: { '$deleteFromPrimitiveList/finalizers': ['x'] } };
  expect(applyMergePatch(original, dropped)).toEqual({ metadata: { finalizers: ['y'] } });
});

test.each([
  ['a pod', (spec: JsonObject) => ({ spec })],
  ['a template of pods', (spec: JsonObject) => ({ spec: { template: { spec } } })],
])('containers and their variables of %s are merged by name', (_, of) => {
  const variable = (name: string, value: string) => ({ name, value });
  const container = (name: string, env: readonly JsonObject[]) => ({ name, env });
  const original = of({
    containers: [container('a', [variable('X', '1'), variable('Y', '2')]), container('b', [])],
  });
  const patch = of({ containers: [container('a', [variable('Y', '3')])] });
  expect(applyMergePatch(original, patch)).toEqual(
    of({ containers: [container('a', [variable('X', '1'), variable('Y', '3')]), container('b', [])] }),
  );
});
