import { describe, expect, test } from '@jest/globals';
import {
  INLINE_BYTES_MAX,
  isReadInline,
  readManifestPods,
} from '../../../../src/agent/sources/manifests/manifest-pods.ts';
import type { ManifestPods } from '../../../../src/agent/sources/pod-of-manifest.ts';
import { problemText } from '../../../../src/agent/sources/source.ts';
import { manifest } from '../support.ts';

const origin = { source: 'file', location: '/etc/pods/a.yaml', nodeName: 'node' } as const;
const read = (text: string, signal?: AbortSignal) => readManifestPods(Buffer.from(text), origin, signal);
const names = ({ pods }: ManifestPods) => pods.map(({ metadata }) => metadata.name);
const texts = ({ problems }: ManifestPods) => problems.map(problemText);
const large = (text: string) => `${text}#${' '.repeat(INLINE_BYTES_MAX)}\n`;

/** The result, and how many turns the event loop took before it was there. */
async function counted(reading: Promise<ManifestPods>): Promise<{ result: ManifestPods; turns: number }> {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await reading;
  isOver = true;
  return { result, turns };
}

describe('a manifest', () => {
  test('that is small is read within one turn of the event loop', async () => {
    const { result, turns } = await counted(read(manifest('a')));
    expect(names(result)).toEqual(['a-node']);
    expect(turns).toBe(0);
  });

  test('that is large is read by a thread while the event loop goes on; its pods are the same, and frozen too', async () => {
    const { result, turns } = await counted(read(large(manifest('a'))));
    expect(result).toEqual(await read(manifest('a')));
    expect(turns).toBeGreaterThan(1);
    expect(Object.isFrozen(result.pods[0]?.spec.containers)).toBe(true);
  });

  test('of many pods takes one turn of the event loop for each pod', async () => {
    const many = Array.from({ length: 300 }, (_, index) => manifest(`pod-${index}`)).join('---\n');
    const { result, turns } = await counted(read(many));
    expect(names(result)).toEqual(Array.from({ length: 300 }, (_, index) => `pod-${index}-node`));
    expect(turns).toBeGreaterThanOrEqual(300);
  });

  test('that is large and broken has the same problems as a small one', async () => {
    for (const broken of [`${manifest('a')}  foo: 1\n`, `${manifest('a')}kind: Pod\n`, 'a: [}\n'])
      expect(await read(large(broken))).toEqual(await read(broken));
    const json = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { foo: 1 } });
    expect(await read(json + ' '.repeat(INLINE_BYTES_MAX))).toEqual(await read(json));
  });

  test('of one map with very many keys is read in linear time', async () => {
    const keys = Array.from({ length: 40_000 }, (_, index) => `    key-${index}: "${index}"`).join('\n');
    const text = `apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n${keys}\n`;
    expect(texts(await read(text))).toEqual(['has more than 20000 values, too many for one pod']);
    expect(texts(await read(`${text}    key-39999: again\n`))).toEqual([
      'is not valid YAML: Map keys must be unique at line 40006, column 5',
    ]);
  });

  test('of many megabytes is refused as soon as a limit is exceeded', async () => {
    const text = `${'---\n'.repeat(2000)}${' '.repeat(9 * 1024 * 1024)}`;
    expect(texts(await read(text))).toEqual(['has more than 1000 documents: split it into several files']);
  });

  test('is abandoned when its signal aborts', async () => {
    const stop = new AbortController();
    const reading = read(large(manifest('a')), stop.signal);
    stop.abort();
    await expect(reading).rejects.toThrow('aborted');
  });
});

const container = (index: number) =>
  `  - name: c${index}\n    image: "a:1"\n    command: [sh, -c, "echo hello"]\n    env: [{name: A, value: "b"}]\n`;

const ordinary = (count: number) =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  labels: {a: b}\nspec:\n  containers:\n${Array.from(
    { length: count },
    (_, index) => container(index),
  ).join('')}`;

test('an ordinary manifest of up to 8 KiB is read in the event loop, in YAML and in JSON', () => {
  const containers = Array.from({ length: 70 }, (_, index) => ({
    name: `c${index}`,
    image: 'a:1',
    command: ['sh', '-c'],
  }));
  const json = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers },
  });
  expect([ordinary(60), json].map((text) => isReadInline(Buffer.from(text)))).toEqual([true, true]);
  expect(isReadInline(Buffer.alloc(INLINE_BYTES_MAX + 1, 'a'))).toBe(false);
});

test.each([
  '---\n',
  '!!str ',
  '!',
  '! ',
  '&a ',
  '*a ',
  '[],',
  '{}',
  ',',
  '"" ',
  "''",
  '#\n',
  '?\n',
  ':\n',
  '-\n',
  '%\n',
  '\n',
  '? ',
])('a small manifest of nothing but %j is read by a thread, and is refused', async (part) => {
  const content = Buffer.from(part.repeat(Math.floor(INLINE_BYTES_MAX / part.length)));
  expect(isReadInline(content)).toBe(false);
  const origin = { source: 'file', location: '/p.yaml', nodeName: 'n' } as const;
  const { pods, problems } = await readManifestPods(content, origin);
  expect(pods).toEqual([]);
  expect(problems).not.toEqual([]);
});
