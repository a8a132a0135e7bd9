import { describe, expect, test } from '@jest/globals';
import { parse, podWith, podWithContainer, problemsOf } from '../support.ts';

describe('the limits of a manifest', () => {
  test('refuse too many pods or values, and too much text', () => {
    const list = (items: readonly object[]) => ({ apiVersion: 'v1', kind: 'List', items });
    expect(problemsOf(list(Array.from({ length: 1001 }, () => podWith({}))))).toEqual([
      'has 1001 pods and objects, more than 1000: split it into several files',
    ]);
    const many = (length: number) => Array.from({ length }, (_, index) => String(index));
    expect(problemsOf(list([podWithContainer({ args: many(20_000) })]))).toEqual([
      'items[0]: has more than 20000 values, too many for one pod',
    ]);
    expect(problemsOf(list([podWithContainer({ args: ['x'.repeat(3 * 1024 * 1024)] })]))).toEqual([
      'items[0]: is larger than 3 MiB, too large for one pod',
    ]);
    const tooMany = ['has more than 100000 values: split it into several files'];
    expect(problemsOf({ ...podWith({}), items: many(100_000) })).toEqual(tooMany);
    expect(problemsOf(`a: [${'x,'.repeat(200_001)}]`)).toEqual(tooMany);
  });

  test('allow an alias, and a text that only looks like many aliases', () => {
    const text = `apiVersion: v1
kind: Pod
metadata: {name: &name web, labels: {app: *name}} # ${'*a '.repeat(200)}
spec:
  containers:
    - name: main
      args:
        - |
${'          *a\n'.repeat(200)}`;
    expect(parse(text).pods).toEqual([
      {
        ...podWithContainer({ args: ['*a\n'.repeat(200)] }),
        metadata: { name: 'web', labels: { app: 'web' } },
      },
    ]);
  });

  test('bound the problems that are listed; the others are counted', () => {
    const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 1]));
    const found = problemsOf({ ...podWith({}), spec: { ...podWith({}).spec, ...fields } });
    expect(found).toHaveLength(11);
    expect(found[0]).toBe('spec.field0: unknown field');
    expect(found[10]).toBe('and 990 more problems');
  });
});
