/** The dialect of JSONPath is that of kubectl, which is asked itself where the machine has it: about a kubeconfig, which needs no server. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { columnsTable, customColumns } from '../../../../src/commands/client/json-path/custom-columns.ts';
import {
  jsonPathTemplate,
  jsonPathValues,
} from '../../../../src/commands/client/json-path/json-path-template.ts';
import { sortedBy } from '../../../../src/commands/client/json-path/sort-objects.ts';
import { isFile, kubectlProgram } from '../../../support/kubernetes-programs.ts';

const cluster = (name: string, server: string) => ({ name, cluster: { server } });
const CONFIG = {
  kind: 'Config',
  apiVersion: 'v1',
  clusters: [cluster('alpha', 'https://a'), cluster('beta', 'https://b'), cluster('gamma', 'https://a')],
  contexts: [
    { name: 'home', context: { cluster: 'alpha', user: 'me', namespace: 'default' } },
    { name: 'work', context: { cluster: 'beta', user: 'you' } },
  ],
  'current-context': 'home',
};

/** Templates, and what kubectl prints for them. */
const CASES: readonly (readonly [template: string, text: string])[] = [
  ['{.kind}', 'Config'],
  ['{$.kind}', 'Config'],
  ['{.current-context}', 'home'],
  ['plain text', 'plain text'],
  ['{.clusters[*].name}', 'alpha beta gamma'],
  ['{.clusters[0].name}-{.clusters[-1].name}', 'alpha-gamma'],
  ['{.clusters[0:2].name}', 'alpha beta'],
  ['{.clusters[0,2].name}', 'alpha gamma'],
  ['{.clusters[-2:].name}', 'beta gamma'],
  ['{.clusters[::2].name}', 'alpha gamma'],
  ["{['kind']}", 'Config'],
  ["{.clusters[1]['name','cluster']}", 'beta {"server":"https://b"}'],
  ['{.clusters[?(@.name=="beta")].cluster.server}', 'https://b'],
  ["{.clusters[?(@.cluster.server=='https://a')].name}", 'alpha gamma'],
  ['{.clusters[?(@.name!="beta")].name}', 'alpha gamma'],
  ['{.contexts[?(@.context.namespace)].name}', 'home'],
  [
    '{range .clusters[*]}{.name}={.cluster.server}{"\\n"}{end}',
    'alpha=https://a\nbeta=https://b\ngamma=https://a\n',
  ],
  ['{range .clusters[*]}{@.name},{end}', 'alpha,beta,gamma,'],
  ["{'a {brace}'}", 'a {brace}'],
  ['{.nothing}', ''],
  ['{.nothing.below[*].it}', ''],
  ['{..server}', 'https://a https://b https://a'],
  ['{.clusters[0].cluster}', '{"server":"https://a"}'],
];

test.each(CASES)('%s', (template, text) => {
  expect(jsonPathTemplate(template)(CONFIG)).toBe(text);
});

(isFile(kubectlProgram('double')) ? describe : describe.skip)('kubectl itself', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-json-path-'));
    writeFileSync(join(dir, 'config'), JSON.stringify(CONFIG));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  test('prints the same for all of them', () => {
    const template = CASES.map(([one]) => one).join('{"\\n--\\n"}');
    const flags = ['config', 'view', '--kubeconfig', join(dir, 'config'), '-o', `jsonpath=${template}`];
    const output = execFileSync(kubectlProgram('double'), flags, { encoding: 'utf8' });
    expect(output.split('\n--\n')).toEqual(CASES.map(([, text]) => text));
  });
});

test('dots of a name are escaped, as in labels, and dashes and slashes are not', () => {
  const pod = { metadata: { labels: { 'app.kubernetes.io/name': 'web', 'a-b': 'c' } } };
  expect(jsonPathTemplate('{.metadata.labels.app\\.kubernetes\\.io/name} {.metadata.labels.a-b}')(pod)).toBe(
    'web c',
  );
  expect(jsonPathTemplate("{.metadata.labels['app.kubernetes.io/name']}")(pod)).toBe('web');
});

test('filters compare numbers by size, and no number with a text', () => {
  const list = { items: [{ n: 1 }, { n: 20 }, { n: '3' }] };
  expect(jsonPathTemplate('{.items[?(@.n>2)].n}')(list)).toBe('20');
  expect(jsonPathTemplate('{.items[?(@.n<=20)].n}')(list)).toBe('1 20');
});

test('-o jsonpath-as-json has all values, as a list', () => {
  expect(jsonPathValues('{.clusters[*].name}{.kind}')(CONFIG)).toEqual(['alpha', 'beta', 'gamma', 'Config']);
});

test('names of the prototype are no fields', () => {
  expect(jsonPathTemplate('{.constructor}{.__proto__}{.clusters.length}')(CONFIG)).toBe('');
});

test.each([
  ['{.a', '"{.a" has no matching brace or quote'],
  ['{range .a}', '{range} without {end}'],
  ['{end}', '{end} without {range}'],
  ['{.a[?(@.b==)]}', '")]" is not understood'],
  ['{.a b}', '" b" is not understood'],
  ['{.clusters[7]}', 'array index out of bounds: index 7, length 3'],
  ['{.kind[0]}', '"Config" is no list'],
])('%s is refused, with what is wrong', (template, problem) => {
  expect(() => jsonPathTemplate(template)(CONFIG)).toThrow(problem);
});

test('an expression that visits too much is refused, not carried out', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 3000; depth += 1) deep = { a: deep };
  expect(() => jsonPathTemplate('{..a..a..a}')(deep)).toThrow('visits more than 2000000 values');
});

test('custom columns: a cell has all values of its path, or <none>', () => {
  const columns = customColumns('NAME:.name,SERVER:{.cluster.server},USER:context.user');
  expect(columnsTable(columns, [...CONFIG.clusters.slice(0, 1), ...CONFIG.contexts.slice(1)], true)).toBe(
    'NAME    SERVER      USER\nalpha   https://a   <none>\nwork    <none>      you\n',
  );
  expect(() => customColumns('NAME')).toThrow('"NAME" is not of the form NAME:PATH');
});

test('objects are sorted by numbers, quantities and numbers in names; what lacks the field comes first', () => {
  const named = (...values: readonly unknown[]) => values.map((value) => ({ value }));
  const sorted = (...values: readonly unknown[]) =>
    sortedBy(named(...values), '.value').map(({ value }) => value);
  expect(sorted(10, 9, 100)).toEqual([9, 10, 100]);
  expect(sorted('1Gi', '900Mi', '2')).toEqual(['2', '900Mi', '1Gi']);
  expect(sorted('web-10', 'web-2', 'db')).toEqual(['db', 'web-2', 'web-10']);
  expect(sorted('a', undefined)).toEqual([undefined, 'a']);
  expect(() => sortedBy(named(1), '.nothing')).toThrow('--sort-by: no object has a field .nothing');
});
