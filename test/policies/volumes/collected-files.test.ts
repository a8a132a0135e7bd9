import { expect, test } from '@jest/globals';
import { collectFiles, wholeFiles } from '../../../src/policies/volumes/collected-files.ts';
import { errorKind, StateletError } from '../../../src/types/errors.ts';
import { testVectors } from '../../support/test-vectors.ts';

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

test('several problems are told together, those within a source too, each once', () => {
  const inner = thrown(failed(missing('x')), failed(missing('y')));
  expect((inner as Error).message).toBe('[x, y]');
  const outer = thrown(failed(inner), found('a'), failed(missing('z')), failed(missing('x')));
  expect((outer as Error).message).toBe('[x, y, z]');
  expect(errorKind(outer)).toBe('NotFound');
});
