/**
 * Checks the rules of ARCHITECTURE.md for folders of `src`: no two files have the same name, no folder is too large or too small, and
 * no files import each other in a circle. Imports of types count too; ESLint's rule does not see those.
 * Exit code 1: a rule is broken; each problem is a line.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILES_MAX = 20;
const FILES_MIN = 3;
const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/gu;

/** The imports of each file, by its path. All paths are relative to one root. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

export function structureProblems(graph: ImportGraph): readonly string[] {
  const files = [...graph.keys()];
  return [...sharedNames(files), ...folderSizes(files), ...importCircles(graph)];
}

function sharedNames(files: readonly string[]): readonly string[] {
  const shared = [...Map.groupBy(files, (file) => basename(file))].filter(([, same]) => same.length > 1);
  return shared.map(([name, same]) => `${name} stands for several files: ${same.join(', ')}`);
}

function folderSizes(files: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const folders = Map.groupBy(files, (file) => dirname(file));
  for (const [folder, { length }] of folders) {
    if (length > FILES_MAX) problems.push(`${folder} has ${length} files: at most ${FILES_MAX}`);
    const hasFolders = [...folders.keys()].some((other) => other.startsWith(`${folder}/`));
    if (length < FILES_MIN && !hasFolders)
      problems.push(`${folder} has ${length} files: at least ${FILES_MIN}, or none`);
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

function readGraph(root: string): ImportGraph {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('generated/'))
    .map((file) => join('src', file));
  return new Map(
    files.map((file) => {
      const imports = Array.from(readFileSync(join(root, file), 'utf8').matchAll(IMPORT), ([, path = '']) =>
        normalize(join(dirname(file), path)),
      );
      return [file, imports];
    }),
  );
}

if (import.meta.main) {
  const root = relative(process.cwd(), fileURLToPath(new URL('..', import.meta.url)));
  const problems = structureProblems(readGraph(root));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
