import { expect, test } from '@jest/globals';
import {
  child,
  fieldPath,
  items,
  oneOf,
  pathOf,
  problemAt,
  repeated,
  type Place,
} from '../../../../src/agent/sources/rules/place.ts';

const ROOT: Place = {
  path: '',
  value: {
    spec: { hostNetwork: true },
    list: [{ name: 'a' }, 'not a mapping', { name: 'b' }, { name: 'a' }, {}],
  },
};

test('names are joined by dots; indices and names of other characters stand in brackets', () => {
  expect(fieldPath(['spec', 'containers', '0', 'image'])).toBe('spec.containers[0].image');
  expect(pathOf({ path: 'metadata.labels', value: {} }, 'example.com/app')).toBe(
    'metadata.labels[example.com/app]',
  );
  expect(problemAt(ROOT, 'spec', 'is wrong')).toEqual({ field: 'spec', message: 'is wrong' });
});

test('only mappings are walked; values of another type are skipped', () => {
  expect(child(ROOT, 'spec')).toEqual([{ path: 'spec', value: { hostNetwork: true } }]);
  expect([child(ROOT, 'list'), child(ROOT, 'missing'), items(ROOT, 'spec')]).toEqual([[], [], []]);
  expect(items(ROOT, 'list').map(({ path }) => path)).toEqual(['list[0]', 'list[2]', 'list[3]', 'list[4]']);
});

test('a repeated key is a problem of the later place; a missing key is not compared', () => {
  expect([...repeated(items(ROOT, 'list'), 'name')]).toEqual([
    { field: 'list[3].name', message: 'is already used by list[0]' },
  ]);
});

test('exactly one of some fields is set, or none if that is allowed; an empty text counts as not set', () => {
  const place = (value: Place['value']): Place => ({ path: 'spec', value });
  expect([...oneOf(place({ a: 1 }), ['a', 'b'])]).toEqual([]);
  expect([...oneOf(place({ a: 1, b: '' }), ['a', 'b'])]).toEqual([]);
  expect([...oneOf(place({ a: 1, b: 2 }), ['a', 'b'])]).toEqual([
    { field: 'spec', message: 'may have only one of a, b' },
  ]);
  expect([...oneOf(place({}), ['a', 'b'])]).toEqual([{ field: 'spec', message: 'must have one of a, b' }]);
  expect([...oneOf(place({}), ['a', 'b'], { orNone: true })]).toEqual([]);
});
