import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { parseYaml } from '../../../../src/agent/sources/manifests/manifest-yaml.ts';

test('YAML is read as Kubernetes reads it: octal modes, yes for true, 80:80 and dates as texts', () => {
  const text = 'mode: 0644\ntty: yes\nargs: [80:80, 2026-01-31]';
  expect(parseYaml(text)).toEqual([{ mode: 0o644, tty: true, args: ['80:80', '2026-01-31'] }]);
});

test.each(['.', '-.', '._', 'e5', '-e5', '+E10'])('%s is a text', (text) => {
  expect(parseYaml(`dir: ${text}`)).toEqual([{ dir: text }]);
});

test.each([
  ['1.', 1],
  ['.5', 0.5],
  ['1e3', 1000],
  ['-1_0.5', -10.5],
  ['.inf', Infinity],
  ['-.inf', -Infinity],
  ['.nan', NaN],
])('%s is a number', (text, number) => {
  expect(parseYaml(`dir: ${text}`)).toEqual([{ dir: number }]);
});

test('long quoted texts take no more memory than their characters', () => {
  const module = new URL('../../../../src/agent/sources/manifests/manifest-yaml.ts', import.meta.url).href;
  // 9 MB of text in a heap of 100 MB. As the library builds it, the text takes 300 MB.
  const script = `
    const { parseYaml } = await import(${JSON.stringify(module)});
    const document = 'text: "' + '.'.repeat(9_000) + '"\\n';
    const documents = parseYaml(Array(1_000).fill(document).join('---\\n'));
    console.log(documents.length, documents.every(({ text }) => text.length === 9_000));
  `;
  const options = [
    '--max-old-space-size=100',
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
  ];
  const { status, stdout } = spawnSync(process.execPath, [...options, '-e', script], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, '1000 true\n']);
});

test.each([
  ['a syntax error', 'a: *b\n---\na: [\n', /^Flow sequence/],
  ['the first broken document', 'a: *b\n---\na: *c\n', /^Unresolved alias .*: b$/],
])('with several broken documents the error is that of %s', (_what, text, message) => {
  expect(() => parseYaml(text)).toThrow(message);
});
