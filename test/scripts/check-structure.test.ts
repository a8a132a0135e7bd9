import { expect, test } from '@jest/globals';
import { structureAdvice, structureProblems, testProblems } from '../../scripts/check-structure.ts';

function problems(imports: Record<string, string[]>) {
  return structureProblems(new Map(Object.entries(imports)));
}

test('finds nothing in a folder of three files that import one another one way', () => {
  expect(
    problems({ 'src/a/one.ts': ['src/a/two.ts'], 'src/a/two.ts': ['src/a/three.ts'], 'src/a/three.ts': [] }),
  ).toEqual([]);
});

test('names a circle of two files, and one of three', () => {
  expect(
    problems({
      'src/a/one.ts': ['src/a/two.ts'],
      'src/a/two.ts': ['src/a/one.ts', 'src/a/three.ts'],
      'src/a/three.ts': ['src/a/four.ts'],
      'src/a/four.ts': ['src/a/two.ts'],
    }),
  ).toEqual([
    'import each other in a circle: src/a/one.ts → src/a/two.ts → src/a/one.ts',
    'import each other in a circle: src/a/two.ts → src/a/three.ts → src/a/four.ts → src/a/two.ts',
  ]);
});

test('names a file name that stands twice', () => {
  expect(
    problems({
      'src/a/one.ts': [],
      'src/a/two.ts': [],
      'src/a/three.ts': [],
      'src/a/b/one.ts': [],
      'src/a/b/x.ts': [],
      'src/a/b/y.ts': [],
    }),
  ).toEqual(['one.ts stands for several files: src/a/one.ts, src/a/b/one.ts']);
});

test('sizes of folders and files are advice, and no problem', () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`src/many/${index}.ts`, []]));
  expect(problems({ ...many, 'src/few/a.ts': [] })).toEqual([]);
  const lines = new Map(Object.keys(many).map((file) => [file, 100]));
  lines.set('src/few/a.ts', 401).set('src/few/b.ts', 19);
  expect(structureAdvice(lines)).toEqual([
    'src/many has 21 files: are they of one subject?',
    'src/few has 2 files: do they belong to another folder?',
    'src/few/a.ts has 401 lines: has it two subjects?',
    'src/few/b.ts has 19 lines: is it always read with another file?',
  ]);
});

test('names a test that is not found by the name of its source', () => {
  const tests = {
    'test/a/one.test.ts': '',
    'test/a/one-on-a-full-disk.test.ts': '',
    'test/b/one.test.ts': '/** Both. */',
    'test/a/onetwo.test.ts': '',
    'test/b/storms.test.ts': '/** Everything at once. */',
  };
  expect(testProblems(['src/a/one.ts', 'src/b/two.ts'], new Map(Object.entries(tests)))).toEqual([
    'test/b/one.test.ts is not where one.ts is',
    'test/a/onetwo.test.ts has no source of that name, and does not say what it tests',
  ]);
});
