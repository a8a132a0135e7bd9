import { expect, test } from '@jest/globals';
import { INLINE_BYTES_MAX, isReadInline } from '../../../src/sources/manifests/inline-manifests.ts';
import { readManifestPods } from '../../../src/sources/manifests/manifest-pods.ts';

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
