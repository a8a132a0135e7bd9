import { describe, expect, test } from '@jest/globals';
import { parseManifest } from '../../../../src/agent/sources/manifests/read-manifest.ts';
import { problemText } from '../../../../src/agent/sources/source.ts';
import { parse, podWith, podWithContainer, problemsOf } from '../support.ts';

const KIND = { source: 'file', nodeName: 'node' } as const;

describe('a manifest may be', () => {
  const yaml = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}\n';

  test('a pod in YAML or JSON', () => {
    expect(parse(yaml)).toMatchObject({ pods: [podWith({})], problems: [] });
    expect(parse(podWith({}))).toMatchObject({ pods: [podWith({})], problems: [] });
  });

  test('several documents; empty ones are skipped', () => {
    const { pods } = parse(`---\n${yaml}---\n---\n${yaml.replace('web', 'db')}---\n# the end\n`);
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web', 'db']);
  });

  test('a List of pods, or a PodList whose items have no kind', () => {
    const { metadata, spec } = podWith({});
    expect(parse({ apiVersion: 'v1', kind: 'List', items: [podWith({})] }).pods).toEqual([podWith({})]);
    expect(parse({ apiVersion: 'v1', kind: 'PodList', items: [{ metadata, spec }] }).pods).toEqual([
      podWith({}),
    ]);
    expect(parse({ apiVersion: 'v1', kind: 'PodList', items: [] })).toMatchObject({
      pods: [],
      problems: [],
      isBroken: false,
    });
  });

  test('a pod with members that are null: they are not set', () => {
    const dump = podWith(
      { volumes: null, containers: [{ name: 'main', env: null }] },
      { name: 'web', creationTimestamp: null },
    );
    expect(parse({ ...dump, status: {} }).pods).toEqual([{ ...podWith({}), status: {} }]);
  });
});

const TOO_DEEP = 'is nested deeper than 100 levels';

describe('a manifest is refused', () => {
  test.each([
    ['nothing', '', 'holds no pod: it is empty'],
    ['comments', '# soon\n---\n', 'holds no pod: it is empty'],
    ['a list', '[1]', 'must be an object with apiVersion, kind, metadata and spec (got a list)'],
    ['broken YAML', 'kind: Pod\nspec: {a: [1,\n', /^is not valid YAML: .* at line 3, column 1$/],
    ['broken JSON', '{"kind": "Pod",, }', /^is not valid YAML: .* at line 1, column 16$/],
    [
      'a key given twice',
      'kind: Pod\nkind: Pod',
      /^is not valid YAML: Map keys must be unique at line 2, column 1$/,
    ],
    ['nesting without end in JSON', `{"a":`.repeat(100_000) + '1' + '}'.repeat(100_000), TOO_DEEP],
    ['nesting without end in flow YAML', `{a: `.repeat(100_000), TOO_DEEP],
    ['nesting without end in block YAML', '- '.repeat(100_000), TOO_DEEP],
    ['an alias inside its own anchor', 'a: &a {b: *a}', TOO_DEEP],
    [
      'aliases of aliases',
      `a: &a [x]\n${aliases(['a', 'b', 'c', 'd', 'e', 'f', 'g'], 16)}`,
      /^cannot be read: Excessive alias count/,
    ],
    [
      'aliases of many values',
      `a: &a [${'x,'.repeat(3000)}]\nb: [${'*a,'.repeat(20)}]`,
      'has aliases that repeat more than 10000 values',
    ],
    ['many aliases', `a: &a x\nb: [${'*a,'.repeat(101)}]`, 'has more than 100 aliases'],
    [
      'many documents',
      'a: 1\n---\n'.repeat(1001),
      'has more than 1000 documents: split it into several files',
    ],
  ])('for %s', (_name, text, message) => {
    const found = problemsOf(text);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  function aliases(names: readonly string[], times: number): string {
    return names
      .slice(1)
      .map((name, index) => `${name}: &${name} [${`*${names[index]},`.repeat(times)}]`)
      .join('\n');
  }

  test('for bytes that are not UTF-8', () => {
    expect(parseManifest(Buffer.from([0x6b, 0xff]), KIND).problems).toEqual([
      { message: 'is not UTF-8 text' },
    ]);
  });

  test('for more than 10 MiB', () => {
    expect(parseManifest(Buffer.alloc(10 * 1024 * 1024 + 1, '#'), KIND).problems).toEqual([
      { message: 'is larger than 10 MiB' },
    ]);
  });

  test('for another kind or version, or without one', () => {
    expect(problemsOf({ ...podWith({}), kind: 'Deployment', apiVersion: 'apps/v1' })).toEqual([
      'kind: a Deployment has no controller here: write its spec.template as a Pod (apiVersion: v1, kind: Pod)',
    ]);
    expect(problemsOf({ ...podWith({}), kind: 'Podd', apiVersion: 'v2' })).toEqual([
      'apiVersion: must be v1 (got "v2")',
      'kind: must be Pod or List (got "Podd"); did you mean "Pod"?',
    ]);
    expect(problemsOf({ spec: {} })).toEqual(['apiVersion: is required', 'kind: is required']);
    expect(
      problemsOf({
        apiVersion: 'v1',
        kind: 'List',
        items: [podWith({}), { ...podWith({}), kind: 'Sevrice' }, 3],
      }),
    ).toEqual([
      'items[1].kind: must be Pod or List (got "Sevrice")',
      'items[2]: must be an object with apiVersion, kind, metadata and spec (got a number)',
    ]);
  });
});

describe('the problems of a manifest', () => {
  test('are reported for all documents at once', () => {
    const text = [podWithContainer({ image: 3 }), podWith({ containers: [] }), podWith({})].map((document) =>
      JSON.stringify(document),
    );
    expect(problemsOf(text.join('\n---\n'))).toEqual([
      'document 1: spec.containers[0].image: must be a string without white space around it (got 3); put it in quotes',
      'document 2: spec.containers: must have at least 1 item',
    ]);
  });

  test('are listed up to ten', () => {
    const env = Array.from({ length: 14 }, (_, index) => ({ name: `V${index}`, value: index }));
    expect(problemsOf(podWithContainer({ env }))).toHaveLength(11);
    expect(problemsOf(podWithContainer({ env })).at(-1)).toBe('and 4 more problems');
  });
});

describe('a whole number of 64 bits', () => {
  const yaml = (seconds: string) => `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {terminationGracePeriodSeconds: ${seconds}, containers: [{name: main}]}
`;
  const json = (seconds: string) =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"terminationGracePeriodSeconds":${seconds},"containers":[{"name":"main"}]}}`;
  const read = (text: string) => parseManifest(Buffer.from(text), KIND).problems.map(problemText);

  test.each([
    ['YAML', yaml],
    ['JSON', json],
  ])('may be the largest one, and not one more, in %s', (_format, text) => {
    expect(read(text('9223372036854775807'))).toEqual([]);
    expect(read(text('9223372036854775808'))).toEqual([
      'spec.terminationGracePeriodSeconds: must be an integer of 64 bits (got 9223372036854778000)',
    ]);
  });

  test('may be the smallest one, and not one less', () => {
    const tolerating = (seconds: string) =>
      yaml('1').replace(
        'containers:',
        `tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: ${seconds}}], containers:`,
      );
    expect(read(tolerating('-9223372036854775808'))).toEqual([]);
    expect(read(tolerating('-9223372036854775809'))).toEqual([
      'spec.tolerations[0].tolerationSeconds: must be an integer of 64 bits (got -9223372036854778000)',
    ]);
  });
});
