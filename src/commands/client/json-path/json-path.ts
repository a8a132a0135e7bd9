/**
 * Paths into an object in kubectl's dialect of JSONPath: `.spec.containers[*].name`, `.metadata.labels.app\.kubernetes\.io/name`,
 * `..image`, `[-1:]`, `['a','b']`, `[?(@.type=="Ready")]`. The libraries for JSONPath have other dialects: none knows escaped dots, and
 * the most used one evaluates scripts.
 */
import { invalid, type StateletError } from '../../../types/errors.ts';

export type Path = readonly Step[];

type Step =
  | { readonly kind: 'fields'; readonly names: readonly string[] }
  | { readonly kind: 'all' | 'descendants' }
  | { readonly kind: 'indexes'; readonly indexes: readonly number[] }
  | { readonly kind: 'slice'; readonly from?: number; readonly to?: number; readonly by: number }
  | { readonly kind: 'filter'; readonly filter: Filter };

type Operand = { readonly path: Path } | { readonly literal: unknown };
type Comparison = '==' | '!=' | '<' | '>' | '<=' | '>=';

interface Filter {
  readonly left: Operand;
  readonly right?: Operand;
  readonly comparison?: Comparison;
}

const TEXT_MAX = 65_536;
/** Descendants of descendants grow fast. */
const VALUES_MAX = 2_000_000;

const FIELD = /\.?((?:\\.|[^\\\s.[\]{}()'"=!<>,|&?:*@$])+)/uy;
const SLICE = /\[(-?\d*):(-?\d*)(?::(\d+))?\]/uy;
const INDEXES = /\[(-?\d+(?:\s*,\s*-?\d+)*)\]/uy;
const NAMES = /\[('(?:\\.|[^'\\])*'(?:\s*,\s*'(?:\\.|[^'\\])*')*|"(?:\\.|[^"\\])*")\]/uy;
const ALL = /\[\*\]|\.?\*/uy;
const COMPARISON = /\s*(==|!=|<=|>=|<|>)\s*/uy;
const LITERAL = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(-?\d+(?:\.\d+)?)(?![\w.])|(true|false|null)\b/uy;

/** Throws `InvalidArgument`, with `flag` before the problem. */
export function parsePath(text: string, flag: string): Path {
  const parser = new PathParser(text, flag);
  const path = parser.path();
  if (!parser.isAtEnd) throw parser.problem();
  return path;
}

class PathParser {
  readonly #text: string;
  readonly #flag: string;
  #at = 0;

  constructor(text: string, flag: string) {
    this.#text = text;
    this.#flag = flag;
    if (text.length > TEXT_MAX)
      throw invalid(`${flag}: the expression is longer than ${TEXT_MAX} characters`);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  problem(): StateletError {
    const rest = this.#text.slice(this.#at, this.#at + 40);
    return invalid(
      `${this.#flag}: ${rest === '' ? 'it ends too early' : `"${rest}" is not understood`} in "${this.#text}"`,
    );
  }

  path(): Path {
    this.#take(/[$@]/uy);
    const steps: Step[] = [];
    while (!this.isAtEnd) {
      if (steps.length === 0 && this.#take(/\.(?=[^\w.[*]|$)/uy)) break;
      if (this.#take(/\.(?=\.)/uy)) steps.push({ kind: 'descendants' });
      const step = this.#step();
      if (step === undefined) break;
      steps.push(step);
    }
    return steps;
  }

  #step(): Step | undefined {
    this.#take(/\.(?=\[)/uy);
    if (this.#take(ALL)) return { kind: 'all' };
    const slice = this.#take(SLICE);
    if (slice) return sliceOf(slice);
    const [, indexes] = this.#take(INDEXES) ?? [];
    if (indexes !== undefined) return { kind: 'indexes', indexes: indexes.split(',').map(Number) };
    const [, names] = this.#take(NAMES) ?? [];
    if (names !== undefined) return { kind: 'fields', names: quotedNames(names) };
    if (this.#take(/\[\?\(\s*/uy)) return { kind: 'filter', filter: this.#filter() };
    const [, name] = this.#take(FIELD) ?? [];
    return name === undefined ? undefined : { kind: 'fields', names: [name.replaceAll(/\\(.)/gu, '$1')] };
  }

  #filter(): Filter {
    const left = this.#operand();
    const [, comparison] = this.#take(COMPARISON) ?? [];
    const right = comparison === undefined ? undefined : this.#operand();
    if (!this.#take(/\s*\)\]/uy)) throw this.problem();
    return right === undefined ? { left } : { left, right, comparison: comparison as Comparison };
  }

  #operand(): Operand {
    const [text, double, single] = this.#take(LITERAL) ?? [];
    const quoted = double ?? single;
    if (quoted !== undefined) return { literal: unescaped(quoted) };
    if (text !== undefined) return { literal: JSON.parse(text) as unknown };
    const before = this.#at;
    const path = this.path();
    if (this.#at === before) throw this.problem();
    return { path };
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found) this.#at += found[0].length;
    return found;
  }
}

function sliceOf([, from = '', to = '', by = '1']: RegExpExecArray): Step {
  return {
    kind: 'slice',
    ...(from !== '' && { from: Number(from) }),
    ...(to !== '' && { to: Number(to) }),
    by: Math.max(1, Number(by)),
  };
}

function quotedNames(text: string): readonly string[] {
  return Array.from(text.matchAll(/'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"/gu), ([, single, double]) =>
    unescaped(single ?? double ?? ''),
  );
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** What stands between quotes. */
export function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gu, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}

/** All values at the path. What is not there is left out. Throws `InvalidArgument` where the path does not fit the object. */
export function valuesAt(path: Path, value: unknown): readonly unknown[] {
  let visited = 0;
  const walk = (steps: Path, start: unknown): readonly unknown[] => {
    let values: readonly unknown[] = [start];
    for (const step of steps) {
      values = values.flatMap((one) => stepFrom(step, one, walk));
      visited += values.length;
      if (visited > VALUES_MAX) throw invalid(`the expression visits more than ${VALUES_MAX} values`);
    }
    return values;
  };
  return walk(path, value);
}

type Walk = (path: Path, value: unknown) => readonly unknown[];

function stepFrom(step: Step, value: unknown, walk: Walk): readonly unknown[] {
  switch (step.kind) {
    case 'fields':
      return step.names.flatMap((name) => fieldOf(value, name));
    case 'all':
      return childrenOf(value);
    case 'descendants':
      return descendantsOf(value);
    case 'indexes':
      return step.indexes.map((index) => elementOf(value, index));
    case 'slice':
      return listOf(value)
        .slice(step.from, step.to)
        .filter((_, index) => index % step.by === 0);
    case 'filter':
      return listOf(value).filter((element) => isWanted(step.filter, element, walk));
  }
}

function fieldOf(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return [];
  return [(value as Readonly<Record<string, unknown>>)[name]];
}

function childrenOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function descendantsOf(value: unknown): readonly unknown[] {
  const found = [value];
  // The list grows while it is read.
  for (const one of found) {
    for (const child of childrenOf(one)) found.push(child);
    if (found.length > VALUES_MAX) throw invalid(`the expression visits more than ${VALUES_MAX} values`);
  }
  return found;
}

function elementOf(value: unknown, index: number): unknown {
  const list = listOf(value);
  const at = index < 0 ? list.length + index : index;
  if (at < 0 || at >= list.length)
    throw invalid(`array index out of bounds: index ${index}, length ${list.length}`);
  return list[at];
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalid(
    `${typeof value === 'object' ? 'an object' : JSON.stringify(value)} is no list: [] cannot be used on it`,
  );
}

function isWanted({ left, right, comparison }: Filter, element: unknown, walk: Walk): boolean {
  const valuesOf = (operand: Operand) =>
    'literal' in operand ? [operand.literal] : walk(operand.path, element);
  const lefts = valuesOf(left);
  if (right === undefined || comparison === undefined) return lefts.length > 0;
  const [a] = lefts;
  const [b] = valuesOf(right);
  return lefts.length > 0 && b !== undefined && compares(a, comparison, b);
}

function compares(a: unknown, comparison: Comparison, b: unknown): boolean {
  if (comparison === '==') return a === b;
  if (comparison === '!=') return a !== b;
  const isOrdered = typeof a === typeof b && (typeof a === 'number' || typeof a === 'string');
  if (!isOrdered) return false;
  const [low, high] = [a as number, b as number];
  switch (comparison) {
    case '<':
      return low < high;
    case '>':
      return low > high;
    case '<=':
      return low <= high;
    case '>=':
      return low >= high;
  }
}
