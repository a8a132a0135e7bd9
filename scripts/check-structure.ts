/**
 * Checks the rules of ARCHITECTURE.md for `src`: no two files have the same name, and no files import each other in a circle. Imports of
 * types count too; ESLint's rule does not see those. Sizes of folders and files are advice: a good subject matters more than a number.
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

/** What to think about, by the number of lines of each file. None of it is wrong by itself. */
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

function readSources(root: string): ReadonlyMap<string, string> {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('generated/'))
    .map((file) => join('src', file));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

function graphOf(sources: ReadonlyMap<string, string>): ImportGraph {
  const importsOf = (file: string, text: string) =>
    Array.from(text.matchAll(IMPORT), ([, path = '']) => normalize(join(dirname(file), path)));
  return new Map(Array.from(sources, ([file, text]) => [file, importsOf(file, text)]));
}

if (import.meta.main) {
  const root = relative(process.cwd(), fileURLToPath(new URL('..', import.meta.url)));
  const sources = readSources(root);
  if (process.argv.includes('--advice')) {
    const lines = new Map(Array.from(sources, ([file, text]) => [file, text.split('\n').length - 1]));
    for (const advice of structureAdvice(lines)) console.log(advice);
  }
  const problems = structureProblems(graphOf(sources));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
