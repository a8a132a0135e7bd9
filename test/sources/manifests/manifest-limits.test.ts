import { describe, expect, test } from '@jest/globals';
import { parseManifest } from '../../../src/sources/manifests/read-manifest.ts';
import { problemText } from '../../../src/sources/source.ts';

const parse = (text: string | object) =>
  parseManifest(Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)));
const problems = (text: string | object) => parse(text).problems.map((problem) => problemText(problem));
const withContainer = (container: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { containers: [{ name: 'main', ...container }] },
});
const pod = () => withContainer({});

describe('the limits of a manifest', () => {
  test('more pods, values or text than a node can want', () => {
    const list = (items: readonly object[]) => ({ apiVersion: 'v1', kind: 'List', items });
    expect(problems(list(Array.from({ length: 1001 }, () => pod())))).toEqual([
      'has 1001 pods, more than 1000: split it into several files',
    ]);
    const many = (length: number) => Array.from({ length }, (_, index) => String(index));
    expect(problems(list([withContainer({ args: many(20_000) })]))).toEqual([
      'items[0]: has more than 20000 values, too many for one pod',
    ]);
    expect(problems(list([withContainer({ args: ['x'.repeat(3 * 1024 * 1024)] })]))).toEqual([
      'items[0]: is larger than 3 MiB, too large for one pod',
    ]);
    const tooMany = ['has more than 100000 values: split it into several files'];
    expect(problems({ ...pod(), items: many(100_000) })).toEqual(tooMany);
    expect(problems(`a: [${'x,'.repeat(200_001)}]`)).toEqual(tooMany);
  });

  test('an alias may be used, and a text may look like many', () => {
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
      { ...withContainer({ args: ['*a\n'.repeat(200)] }), metadata: { name: 'web', labels: { app: 'web' } } },
    ]);
  });

  test('more problems than anybody reads are counted', () => {
    const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 1]));
    const found = problems({ ...pod(), spec: { ...pod().spec, ...fields } });
    expect(found).toHaveLength(11);
    expect(found[0]).toBe('spec.field0: unknown field');
    expect(found[10]).toBe('and 990 more problems');
  });
});
