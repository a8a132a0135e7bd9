/**
 * Checks the rules of ARCHITECTURE.md: in `src` no two files have the same name, and no files import each other in a circle. Imports of
 * types count too. A test is found by the name of its source. Sizes of folders and files are advice: a
 * good subject matters more than a number.
 * Exit code 1: a rule is broken; each problem is a line. With `--advice` the advice is printed as well.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILES_MAX = 20;
const FILES_MIN = 3;
const LINES_MAX = 400;
const LINES_MIN = 20;
const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/gu;

/** The imports of each file, by its path. All paths are relative to one root. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

export function structureProblems(graph: ImportGraph): readonly string[] {
  const files = [...graph.keys()];
  return [...sharedNames(files), ...importCircles(graph)];
}

/**
 * Tests that are not found by the name of their source. The test of `src/a/b.ts` is `test/a/b.test.ts`, or `test/a/b-more.test.ts` where there
 * are several. Any other test says in a comment on its first line what it tests, and has no name of a source. `tests`: texts by path.
 */
export function testProblems(
  sources: readonly string[],
  tests: ReadonlyMap<string, string>,
): readonly string[] {
  const names = new Set(sources.map((file) => basename(file, '.ts')));
  const folders = Map.groupBy(sources, (file) => dirname(file));
  return [...tests].flatMap(([file, text]) => {
    const name = basename(file, '.test.ts');
    const beside = folders.get(dirname(file).replace(/^test/u, 'src')) ?? [];
    if (beside.some((source) => `${name}-`.startsWith(`${basename(source, '.ts')}-`))) return [];
    if (names.has(name)) return [`${file} is not where ${name}.ts is`];
    return text.startsWith('/**')
      ? []
      : [`${file} has no source of that name, and does not say what it tests`];
  });
}

/** Advice by the number of lines of each file. None of it is wrong by itself. */
export function structureAdvice(lines: ReadonlyMap<string, number>): readonly string[] {
  const sizes = [...lines].flatMap(([file, count]) => {
    if (count > LINES_MAX) return [`${file} has ${count} lines: has it two subjects?`];
    return count < LINES_MIN ? [`${file} has ${count} lines: is it always read with another file?`] : [];
  });
  return [...folderSizes([...lines.keys()]), ...sizes];
}

function sharedNames(files: readonly string[]): readonly string[] {
  const shared = [...Map.groupBy(files, (file) => basename(file))].filter(([, same]) => same.length > 1);
  return shared.map(([name, same]) => `${name} stands for several files: ${same.join(', ')}`);
}

function folderSizes(files: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const folders = Map.groupBy(files, (file) => dirname(file));
  for (const [folder, { length }] of folders) {
    if (length > FILES_MAX) problems.push(`${folder} has ${length} files: are they of one subject?`);
    const hasFolders = [...folders.keys()].some((other) => other.startsWith(`${folder}/`));
    if (length < FILES_MIN && !hasFolders)
      problems.push(`${folder} has ${length} files: do they belong to another folder?`);
  }
  return problems;
}

/** One line for each circle, with its files in the order in which they import each other. */
function importCircles(graph: ImportGraph): readonly string[] {
  const problems: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) problems.push(`import each other in a circle: ${path.slice(at).join(' → ')} → ${file}`);
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const imported of graph.get(file) ?? []) visit(imported);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return problems;
}

function readFiles(
  root: string,
  folder: string,
  isWanted: (file: string) => boolean,
): ReadonlyMap<string, string> {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isWanted)
    .map((file) => join(folder, file));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** Only folders of `test` that `src` has, too: tests in others concern more than one file. */
function readTests(root: string): ReadonlyMap<string, string> {
  const rooms = readdirSync(join(root, 'src'));
  return readFiles(
    root,
    'test',
    (file) => file.endsWith('.test.ts') && rooms.some((room) => file.startsWith(`${room}/`)),
  );
}

function graphOf(sources: ReadonlyMap<string, string>): ImportGraph {
  const importsOf = (file: string, text: string) =>
    Array.from(text.matchAll(IMPORT), ([, path = '']) => normalize(join(dirname(file), path)));
  return new Map(Array.from(sources, ([file, text]) => [file, importsOf(file, text)]));
}

if (import.meta.main) {
  const root = relative(process.cwd(), fileURLToPath(new URL('..', import.meta.url)));
  const sources = readFiles(root, 'src', (file) => file.endsWith('.ts') && !file.startsWith('generated/'));
  if (process.argv.includes('--advice')) {
    const lines = new Map(Array.from(sources, ([file, text]) => [file, text.split('\n').length - 1]));
    for (const advice of structureAdvice(lines)) console.log(advice);
  }
  const problems = [
    ...structureProblems(graphOf(sources)),
    ...testProblems([...sources.keys()], readTests(root)),
  ];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
