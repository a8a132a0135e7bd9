/** Templates as `kubectl get -o jsonpath=` has them: `{.metadata.name}{"\n"}`, `{range .items[*]}{.metadata.name} {end}`. */
import { invalid } from '../../../types/errors.ts';
import { type Path, parsePath, unescaped, valuesAt } from './json-path.ts';

const FLAG = '-o jsonpath';

type Part =
  | { readonly text: string }
  | { readonly path: Path }
  | { readonly range: Path; readonly parts: readonly Part[] };

/** Deeper ones are a mistake. */
const RANGES_MAX = 16;
const OUTPUT_MAX = 256 * 1024 * 1024;

/** Throws `InvalidArgument`. */
export function jsonPathTemplate(template: string): (value: unknown) => string {
  const parts = parse(template);
  return (value) => {
    let length = 0;
    const write = (some: readonly Part[], current: unknown): string =>
      some.map((part) => counted(part, current)).join('');
    const counted = (part: Part, current: unknown): string => {
      if ('range' in part)
        return valuesAt(part.range, current)
          .map((one) => write(part.parts, one))
          .join('');
      const text = 'text' in part ? part.text : valuesAt(part.path, current).map(shown).join(' ');
      length += text.length;
      if (length > OUTPUT_MAX) throw invalid(`${FLAG}: more than ${OUTPUT_MAX} characters would be written`);
      return text;
    };
    return write(parts, value);
  };
}

/** All values of all paths of the template, for `-o jsonpath-as-json`. */
export function jsonPathValues(template: string): (value: unknown) => readonly unknown[] {
  const paths = parse(template).flatMap((part) => {
    if ('range' in part) throw invalid('-o jsonpath-as-json: {range} is not possible here');
    return 'path' in part ? [part.path] : [];
  });
  return (value) => paths.flatMap((path) => valuesAt(path, value));
}

function parse(template: string): readonly Part[] {
  const open: { readonly range: Path; readonly parts: Part[] }[] = [{ range: [], parts: [] }];
  const add = (part: Part) => open.at(-1)?.parts.push(part);
  for (const piece of pieces(template)) {
    if (piece.isLiteral) {
      add({ text: piece.text });
    } else if (/^range\s/u.test(piece.text)) {
      if (open.length > RANGES_MAX) throw invalid(`${FLAG}: more than ${RANGES_MAX} {range} in one another`);
      open.push({ range: parsePath(piece.text.slice('range'.length).trim(), FLAG), parts: [] });
    } else if (piece.text === 'end') {
      const range = open.length > 1 ? open.pop() : undefined;
      if (range === undefined) throw invalid(`${FLAG}: {end} without {range} in "${template}"`);
      add(range);
    } else {
      add(action(piece.text));
    }
  }
  if (open.length > 1) throw invalid(`${FLAG}: {range} without {end} in "${template}"`);
  return open[0]?.parts ?? [];
}

function action(text: string): Part {
  const [, double, single] = /^(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')$/u.exec(text) ?? [];
  const quoted = double ?? single;
  return quoted === undefined ? { path: parsePath(text, FLAG) } : { text: unescaped(quoted) };
}

interface Piece {
  readonly text: string;
  readonly isLiteral: boolean;
}

/** Text, and what is between braces. Braces inside quotes part nothing. */
function pieces(template: string): readonly Piece[] {
  const pattern = /([^{]+)|\{((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^{}"'])*)\}/uy;
  const found: Piece[] = [];
  while (pattern.lastIndex < template.length) {
    const at = pattern.lastIndex;
    const [, literal, inner] = pattern.exec(template) ?? [];
    if (literal !== undefined) found.push({ text: literal, isLiteral: true });
    else if (inner !== undefined) found.push({ text: inner.trim(), isLiteral: false });
    else throw invalid(`${FLAG}: "${template.slice(at, at + 40)}" has no matching brace or quote`);
  }
  return found;
}

/** Objects and lists are JSON in one line. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}
