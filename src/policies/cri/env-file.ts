/** Files of environment variables in the kubelet's format: `NAME='value'` on each line. */
import { StateletError } from '../../types/errors.ts';

/** The kubelet does not read longer lines. */
const LINE_MAX_LENGTH = 65_535;

interface Lines {
  readonly lines: readonly string[];
  /** The index of the next line. */
  index: number;
}

/**
 * The value of the first variable of that name; undefined if it is empty or missing. What follows it is not read. Values may
 * have several lines; no character in them has a special meaning. Throws a StateletError of kind InvalidArgument that names
 * the line and does not repeat what the file holds.
 */
export function envFileValue(text: string, name: string): string | undefined {
  const source: Lines = { lines: text.split('\n'), index: 0 };
  while (source.index < source.lines.length) {
    const line = nextLine(source).replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const variable = variableOf(line, source);
    if (variable.name === name) return variable.value || undefined;
  }
  return undefined;
}

function nextLine(source: Lines): string {
  const line = source.lines[source.index] ?? '';
  source.index += 1;
  if (line.length <= LINE_MAX_LENGTH) return line.replace(/\r$/, '');
  throw problem(source.index, `is longer than ${LINE_MAX_LENGTH} characters`);
}

function variableOf(line: string, source: Lines): { readonly name: string; readonly value: string } {
  const equals = line.indexOf('=');
  if (equals < 0) throw problem(source.index, "has no '='");
  const name = line.slice(0, equals);
  if (name === '') throw problem(source.index, "has no name before the '='");
  if (/[ \t]$/.test(name)) throw problem(source.index, "has a blank before the '='");
  const value = line.slice(equals + 1);
  // As in a shell, a blank after the '=' makes the value empty.
  if (/^[ \t]/.test(value)) return { name, value: '' };
  if (!value.startsWith("'")) throw problem(source.index, 'has a value that is not in single quotes');
  return { name, value: quotedValue(value.slice(1), source) };
}

/** `text`: the part of the line after the opening quote. */
function quotedValue(text: string, source: Lines): string {
  const begunAt = source.index;
  const parts: string[] = [];
  let line = text;
  while (!line.includes("'")) {
    parts.push(line);
    if (source.index >= source.lines.length) throw problem(begunAt, 'has a value whose quote is not closed');
    line = nextLine(source);
  }
  const quote = line.indexOf("'");
  if (!/^[ \t]*(?:#|$)/.test(line.slice(quote + 1))) {
    throw problem(source.index, 'has something behind the closing quote that is no comment');
  }
  return [...parts, line.slice(0, quote)].join('\n');
}

function problem(line: number, what: string): StateletError {
  return new StateletError('InvalidArgument', `line ${line} ${what}`);
}
