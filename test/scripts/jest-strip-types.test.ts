import { createRequire } from 'node:module';
import { expect, test } from '@jest/globals';

interface Transform {
  readonly process: (source: string) => { readonly code: string };
  readonly getCacheKey: (
    source: string,
    fileName: string,
    options: { readonly configString: string; readonly instrument: boolean },
  ) => string;
}

const { process: transformed, getCacheKey } = createRequire(import.meta.url)(
  '../../scripts/jest-strip-types.cjs',
) as Transform;

test('built-in objects that a module uses are its constants, and every line keeps its number', () => {
  const { code } = transformed('const one: number = 1;\nexport const all = new Map([[one, Math.PI]]);\n');
  expect(code.split('\n')).toEqual([
    'const { Map, Math } = globalThis; const one         = 1;',
    'export const all = new Map([[one, Math.PI]]);',
    '',
  ]);
});

test('what fake timers replace is still asked of the sandbox, and a part of a name is no use of it', () => {
  const source = 'export const mapOf = () => setTimeout(() => Date.now(), 1) + MyMap;\n';
  expect(transformed(source).code).toBe(source);
});

test('the key of the cache depends on the source, the file and the configuration', () => {
  const keyOf = (source: string, fileName: string, configString: string, instrument: boolean) =>
    getCacheKey(source, fileName, { configString, instrument });
  const keys = [
    keyOf('1', 'a.ts', '{}', false),
    keyOf('2', 'a.ts', '{}', false),
    keyOf('1', 'b.ts', '{}', false),
    keyOf('1', 'a.ts', '{"a":1}', false),
    keyOf('1', 'a.ts', '{}', true),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(keyOf('1', 'a.ts', '{}', false)).toBe(keys[0]);
});
