/**
 * Golden vectors: `NAME.json` holds cases of input and wanted output, and the adapter `NAME.ts` in test/vectors runs our policy.
 * `npm run vectors` and the tests use this.
 */
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How the cases of one file are run. Each `test/vectors/NAME.ts` exports one as `adapter`. */
export interface VectorAdapter {
  /** The answer of our policy to `input` (deeply frozen), in the form of the file's `want`. Throwing fails the case. */
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a shape that only the adapter knows
  adapt(input: any): unknown;
  /** Cases that are left out, with the reason: by the name of a case, or the beginning of several names. */
  readonly skip?: Readonly<Record<string, string>>;
  /** Replaces deep equality (keys in any order; absent equals undefined) if that is not right for this file. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  matches?(got: unknown, want: unknown, input: any): boolean;
}

export interface VectorCase {
  readonly name: string;
  readonly input: unknown;
  readonly want: unknown;
}

export interface VectorFile {
  readonly name: string;
  readonly about: string;
  readonly cases: readonly VectorCase[];
}

/** The first place where the answer differs from the wanted one; `path` is empty for the whole answer. */
export interface Difference {
  readonly path: string;
  readonly got: unknown;
  readonly want: unknown;
}

export interface VectorReport {
  readonly name: string;
  readonly passed: number;
  readonly failures: readonly (Difference & { readonly caseName: string })[];
  /** Number of cases left out by reason. */
  readonly skipped: ReadonlyMap<string, number>;
}

export const COMMITTED_VECTORS = fileURLToPath(new URL('../vectors', import.meta.url));
/** Cases of rules that the golden vectors do not show. Their answers are those of the kubelet's own functions too. */
export const OWN_VECTORS = join(COMMITTED_VECTORS, 'own');
export const SHARED_VECTORS = fileURLToPath(new URL('../../../shared/vectors', import.meta.url));

/** The folder of the full vectors if it exists beside the project, else that of the committed, compact ones. */
export function defaultVectorFolder(): string {
  return existsSync(SHARED_VECTORS) ? SHARED_VECTORS : COMMITTED_VECTORS;
}

/** The NAMEs of a folder, sorted. */
export async function listVectors(folder: string): Promise<string[]> {
  return namesWithSuffix(await readdir(folder), '.json');
}

/** The NAMEs that have an adapter, sorted. */
export async function listAdapters(): Promise<string[]> {
  return namesWithSuffix(await readdir(COMMITTED_VECTORS), '.ts');
}

function namesWithSuffix(files: readonly string[], suffix: string): string[] {
  return files
    .filter((file) => file.endsWith(suffix))
    .map((file) => basename(file, suffix))
    .sort();
}

export async function loadAdapter(name: string): Promise<VectorAdapter> {
  const module = (await import(`../vectors/${name}.ts`)) as { adapter?: VectorAdapter };
  if (!module.adapter) throw new Error(`test/vectors/${name}.ts exports no \`adapter\``);
  return module.adapter;
}

/** Throws an Error that names the file when it cannot be read or is not a vector file. */
export async function readVectors(folder: string, name: string): Promise<VectorFile> {
  const path = join(folder, `${name}.json`);
  try {
    const { about, cases } = JSON.parse(await readFile(path, 'utf8')) as Partial<VectorFile>;
    if (!Array.isArray(cases)) throw new Error('"cases" is no array');
    return { name, about: about ?? '', cases: cases.map(checkCase) };
  } catch (error) {
    throw new Error(`${path}: not a vector file: ${String(error)}`, { cause: error });
  }
}

function checkCase(value: Partial<VectorCase> | null, index: number): VectorCase {
  if (typeof value?.name !== 'string' || !('input' in value) || !('want' in value)) {
    throw new Error(`cases[${index}] lacks a name, an input or a want`);
  }
  return value as VectorCase;
}

export function runVectors(file: VectorFile, adapter: VectorAdapter): VectorReport {
  const failures: (Difference & { caseName: string })[] = [];
  const skipped = new Map<string, number>();
  for (const vector of file.cases) {
    const reason = skipReason(adapter, vector.name);
    if (reason !== undefined) {
      skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      continue;
    }
    const difference = runCase(vector, adapter);
    if (difference) failures.push({ caseName: vector.name, ...difference });
  }
  const skips = [...skipped.values()].reduce((sum, count) => sum + count, 0);
  return { name: file.name, passed: file.cases.length - failures.length - skips, failures, skipped };
}

function skipReason(adapter: VectorAdapter, caseName: string): string | undefined {
  return Object.entries(adapter.skip ?? {}).find(([prefix]) => caseName.startsWith(prefix))?.[1];
}

function runCase({ input, want }: VectorCase, adapter: VectorAdapter): Difference | undefined {
  let got: unknown;
  try {
    got = adapter.adapt(deepFreeze(input));
  } catch (error) {
    return { path: '', got: error, want };
  }
  const difference = firstDifference(got, want);
  if (!adapter.matches) return difference;
  return adapter.matches(got, want, input) ? undefined : (difference ?? { path: '', got, want });
}

function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

/** Deep equality of JSON values: undefined when they are equal. */
export function firstDifference(got: unknown, want: unknown, path = ''): Difference | undefined {
  if (Object.is(got, want) || got === want) return undefined;
  if (!isObject(got) || !isObject(want) || Array.isArray(got) !== Array.isArray(want)) {
    return { path, got, want };
  }
  const keys = new Set([...Object.keys(want), ...Object.keys(got)]);
  for (const key of keys) {
    const difference = firstDifference(got[key], want[key], path === '' ? key : `${path}.${key}`);
    if (difference) return difference;
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A line for the report: `case: path: got …, want …`. */
export function describeFailure({ caseName, path, got, want }: VectorReport['failures'][number]): string {
  const where = path === '' ? '' : `${path}: `;
  return `${caseName}: ${where}got ${brief(got)}, want ${brief(want)}`;
}

function brief(value: unknown): string {
  if (value instanceof Error) return `a thrown ${value.stack?.split('\n', 2).join('') ?? value.message}`;
  if (value === undefined) return 'nothing';
  const text = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
