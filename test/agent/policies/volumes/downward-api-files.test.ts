import { describe, expect, test } from '@jest/globals';
import {
  collectDownwardAPI,
  collectFiles,
  downwardAPIFiles,
  wholeFiles,
} from '../../../../src/agent/policies/volumes/downward-api-files.ts';
import { isVolumeFieldPath } from '../../../../src/agent/policies/volumes/downward-fields.ts';
import { errorKind, StateletError } from '../../../../src/types/errors.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { testVectors } from '../../../support/test-vectors.ts';

const POD = { name: 'web', namespace: 'shop', uid: 'u-1' };

type Items = Parameters<typeof downwardAPIFiles>[1];

const files = (items: Items, pod = podOf()) => downwardAPIFiles(pod, items, 0o644, { cpu: '4' });
const field = (fieldPath: string) => [{ path: 'f', fieldRef: { fieldPath } }];
const contentOfLabels = (labels: Record<string, string>) =>
  files(field('metadata.labels'), podOf({}, { metadata: { ...POD, labels } }))[0]?.content;

describe('a file of the downward API', () => {
  test('has its own mode, or that of the volume', () => {
    const items = [
      ...field('metadata.name'),
      { path: 'g', mode: 0o400, fieldRef: { fieldPath: 'metadata.uid' } },
    ];
    expect(files(items)).toEqual([
      { path: 'f', content: 'web', mode: 0o644 },
      { path: 'g', content: 'u-1', mode: 0o400 },
    ]);
  });

  test('holds a resource of the container that it names', () => {
    const resourceFieldRef = { containerName: 'app', resource: 'limits.cpu' };
    expect(files([{ path: 'f', resourceFieldRef }])[0]?.content).toBe('4');
  });

  test('has a path without detours', () => {
    const items = ['a//b', './c', 'd/../e/'].map((path) => ({
      path,
      fieldRef: { fieldPath: 'metadata.name' },
    }));
    expect(files(items).map(({ path }) => path)).toEqual(['a/b', 'c', 'e']);
  });

  test('is empty where its item says nothing, and needs the name of a container for a resource', () => {
    expect(files([{ path: 'f' }])).toEqual([{ path: 'f', content: '', mode: 0o644 }]);
    expect(() => files([{ path: 'f', resourceFieldRef: { resource: 'limits.cpu' } }])).toThrow(
      'item f: resourceFieldRef must have containerName',
    );
  });
});

describe('items whose field or resource does not exist', () => {
  const items = [
    ...field('status.podIP'),
    { path: 'g', resourceFieldRef: { containerName: 'no', resource: 'x' } },
  ];

  test('are all reported', () => {
    expect(() => files(items)).toThrow(
      /^\[unsupported fieldPath: status\.podIP \(.*\), container no not found\]$/,
    );
  });

  test('have empty files beside what is wrong with them', () => {
    const collected = collectDownwardAPI(podOf(), [...items, ...field('metadata.uid')], 0o644, {});
    expect(collected.files.map(({ path, content }) => [path, content])).toEqual([
      ['f', ''],
      ['g', ''],
      ['f', 'u-1'],
    ]);
    expect(collected.problems).toHaveLength(2);
  });
});

test('a file of one label or annotation holds its value; without the label it is empty', () => {
  const pod = podOf({}, { metadata: { ...POD, labels: { app: 'web' } } });
  expect(files(field("metadata.labels['app']"), pod)[0]?.content).toBe('web');
  expect(files(field("metadata.annotations['absent']"), pod)[0]?.content).toBe('');
});

describe('a file of labels or annotations', () => {
  test('has a line for each, sorted by key, without a line feed at the end', () => {
    expect(contentOfLabels({ b: '2', a: '1', B: '3' })).toBe('B="3"\na="1"\nb="2"');
    expect(contentOfLabels({ zone: 'b', constructor: 'x' })).toBe('constructor="x"\nzone="b"');
    expect(contentOfLabels({})).toBe('');
  });

  test.each([
    ['say "hi"\\', String.raw`a="say \"hi\"\\"`],
    ['one\ntwo\tx\r', String.raw`a="one\ntwo\tx\r"`],
    ['\u0007\b\f\v', String.raw`a="\a\b\f\v"`],
    ['\u0000\u007f', String.raw`a="\x00\x7f"`],
    ['grün 日本 🚢', 'a="grün 日本 🚢"'],
    ['a\u00ad', String.raw`a="a\u00ad"`],
    ['\u00a0\u2028', String.raw`a="\u00a0\u2028"`],
    ['\u0080\uffff', String.raw`a="\u0080\uffff"`],
    ['\u{e0001}', String.raw`a="\U000e0001"`],
  ])('quotes %j as Go does', (value, want) => {
    expect(contentOfLabels({ a: value })).toBe(want);
  });
});

describe('the fields that a file may hold', () => {
  test.each([
    'metadata.name',
    'metadata.namespace',
    'metadata.uid',
    'metadata.labels',
    'metadata.annotations',
    "metadata.labels['app']",
  ])('%s', (fieldPath) => {
    expect(isVolumeFieldPath(fieldPath)).toBe(true);
    expect(files(field(fieldPath))).toHaveLength(1);
  });

  test.each(['status.podIP', 'spec.nodeName', "metadata.labels['']", 'metadata.labels[app]', 'metadata'])(
    'not %s',
    (fieldPath) => {
      expect(isVolumeFieldPath(fieldPath)).toBe(false);
      expect(() => files(field(fieldPath))).toThrow(/^(?:unsupported fieldPath|invalid key subscript in)/);
    },
  );
});

test('a field that many items show is put into words once', () => {
  let reads = 0;
  const metadata = {
    name: 'p',
    namespace: 'n',
    uid: 'u',
    get labels() {
      reads += 1;
      return { a: 'b' };
    },
  };
  const pod = { metadata, spec: { containers: [{ name: 'c' }] } };
  const items = Array.from({ length: 1_000 }, (_, index) => ({
    path: `f${index}`,
    fieldRef: { fieldPath: 'metadata.labels' },
  }));
  const fields = new Map<string, string>();
  const once = downwardAPIFiles(pod, items, 0o644, {}, fields);
  const readsOfOne = reads;
  downwardAPIFiles(pod, items, 0o644, {}, fields);
  expect([once.length, once[999]?.content]).toEqual([1_000, 'a="b"']);
  expect([readsOfOne < 10, reads]).toEqual([true, readsOfOne]);
});

testVectors('volumePayload');

const file = (path: string) => ({ path, content: '', mode: 0o644 });

const found = (...paths: string[]) => ({ status: 'fulfilled', value: paths.map(file) }) as const;

const failed = (reason: unknown) => ({ status: 'rejected', reason }) as const;

const missing = (message: string) => new StateletError('NotFound', message);

function thrown(...outcomes: Parameters<typeof collectFiles>[0]): unknown {
  try {
    wholeFiles(collectFiles(outcomes));
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('files are those of all sources in their order', () => {
  expect(wholeFiles(collectFiles([found('a', 'b'), found(), found('a')]))).toEqual([
    file('a'),
    file('b'),
    file('a'),
  ]);
});

test('files of sources that can be read are collected beside what is wrong with others', () => {
  const problem = missing('x');
  expect(collectFiles([found('a'), failed(problem)])).toEqual({ files: [file('a')], problems: [problem] });
});

test('a single problem is thrown as it is, also where two sources have it', () => {
  const problem = missing('x');
  expect(thrown(failed(problem))).toBe(problem);
  expect((thrown(failed(missing('x')), failed(missing('x'))) as Error).message).toBe('x');
});

test('several problems are reported together, those within a source too, each once', () => {
  const inner = thrown(failed(missing('x')), failed(missing('y')));
  expect((inner as Error).message).toBe('[x, y]');
  const outer = thrown(failed(inner), found('a'), failed(missing('z')), failed(missing('x')));
  expect((outer as Error).message).toBe('[x, y, z]');
  expect(errorKind(outer)).toBe('NotFound');
});
