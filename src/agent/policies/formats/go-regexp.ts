/** Whether Go's regexp package reads a regular expression; it has neither look-around nor references back. */

interface Reader {
  readonly text: string;
  /** Where `:]` stands last, so that it is not looked for again and again. */
  readonly lastNameEnd: number;
  at: number;
  /** Groups that are open. */
  depth: number;
  /** There is something before this that can be repeated. */
  hasOperand: boolean;
}

class Problem extends Error {}

const COUNT_MAX = 1000;

/** In Go's words; undefined for an expression that is good. Limits of size and nesting are not looked at. */
export function goRegexpProblem(text: string): string | undefined {
  try {
    read({ text, lastNameEnd: text.lastIndexOf(':]'), at: 0, depth: 0, hasOperand: false });
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return `error parsing regexp: ${error.message}`;
    throw error;
  }
}

function read(reader: Reader): void {
  const { text } = reader;
  let lastRepeat: number | undefined;
  while (reader.at < text.length) {
    const start = reader.at;
    lastRepeat = readNext(reader, lastRepeat) ? start : undefined;
  }
  if (reader.depth > 0) throw problem('missing closing )', text);
}

/** True: it was a repetition. */
function readNext(reader: Reader, lastRepeat: number | undefined): boolean {
  const { text, at } = reader;
  const character = text.charAt(at);
  const count = character === '{' ? countEnd(text, at) : undefined;
  if ('*+?'.includes(character) || count !== undefined) {
    repeat(reader, count ?? at + 1, lastRepeat);
    return true;
  }
  if (character === '(') readGroup(reader);
  else if (character === '\\') readEscape(reader);
  else {
    reader.at = character === '[' ? classEnd(reader) : at + widthAt(text, at);
    if (character === ')') {
      if (reader.depth === 0) throw problem('unexpected )', text);
      reader.depth -= 1;
    }
    reader.hasOperand = character !== '|';
  }
  return false;
}

function repeat(reader: Reader, operatorEnd: number, lastRepeat: number | undefined): void {
  const { text, at, hasOperand } = reader;
  const end = text.charAt(operatorEnd) === '?' ? operatorEnd + 1 : operatorEnd;
  if (lastRepeat !== undefined)
    throw problem('invalid nested repetition operator', text.slice(lastRepeat, end));
  if (!hasOperand) throw problem('missing argument to repetition operator', text.slice(at, end));
  reader.at = end;
}

const COUNT = /\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/y;

/** Where `{2,3}` ends; undefined: the brace is one like other characters. */
function countEnd(text: string, at: number): number | undefined {
  COUNT.lastIndex = at;
  const found = COUNT.exec(text);
  if (!found) return undefined;
  const [whole, min = '', , max] = found;
  const isTooMuch = [min, max ?? min].some((count) => Number(count) > COUNT_MAX);
  if (isTooMuch || Number(max ?? Infinity) < Number(min)) throw problem('invalid repeat count', whole);
  return at + whole.length;
}

const NAMED = /\(\?P?<([^>]*)(>?)/y;
const FLAGS = /\(\?(?:[imsU]*-[imsU]+|[imsU]*)([:)])/y;
/** How far Go reads before it gives up. */
const NO_FLAGS = /\(\?[imsU]*(?:-[imsU]*)?[^]?/uy;

function readGroup(reader: Reader): void {
  const { text, at } = reader;
  if (text.charAt(at + 1) !== '?') {
    open(reader, at + 1);
    return;
  }
  const named = matchAt(NAMED, text, at);
  if (named) {
    const [capture, name = '', end = ''] = named;
    if (end === '') throw problem('invalid named capture', text.slice(at));
    if (!/^\w+$/.test(name)) throw problem('invalid named capture', capture);
    open(reader, at + capture.length);
    return;
  }
  const [flags, end] = matchAt(FLAGS, text, at) ?? [];
  if (flags === undefined)
    throw problem('invalid or unsupported Perl syntax', matchAt(NO_FLAGS, text, at)?.[0] ?? '');
  if (end === ':') open(reader, at + flags.length);
  else reader.at = at + flags.length;
}

function open(reader: Reader, at: number): void {
  reader.at = at;
  reader.depth += 1;
  reader.hasOperand = false;
}

function readEscape(reader: Reader): void {
  const { text, at } = reader;
  const next = text.charAt(at + 1);
  if (next === 'C') throw problem('invalid escape sequence', '\\C');
  if (next === 'Q') {
    const end = text.indexOf('\\E', at + 2);
    reader.at = end < 0 ? text.length : end + 2;
    reader.hasOperand ||= (end < 0 ? text.length : end) > at + 2;
    return;
  }
  reader.at = 'AbBz'.includes(next) && next !== '' ? at + 2 : (setEnd(text, at) ?? escapeEnd(text, at));
  reader.hasOperand = true;
}

/** Where an escape ends that stands for several characters, such as `\d`; undefined: it is none. */
function setEnd(text: string, at: number): number | undefined {
  const next = text.charAt(at + 1);
  if ('dDsSwW'.includes(next) && next !== '') return at + 2;
  return next === 'p' || next === 'P' ? unicodeEnd(text, at) : undefined;
}

function unicodeEnd(text: string, at: number): number {
  const isLong = text.charAt(at + 2) === '{';
  const close = isLong ? text.indexOf('}', at) : at + 1 + widthAt(text, at + 2);
  if (close < 0) throw problem('invalid character class range', text.slice(at));
  const name = isLong ? text.slice(at + 3, close).replace(/^\^/, '') : text.slice(at + 2, close + 1);
  if (!isUnicodeName(name)) throw problem('invalid character class range', text.slice(at, close + 1));
  return close + 1;
}

function isUnicodeName(name: string): boolean {
  if (name === 'Any') return true;
  const property = /^[A-Z][a-z]?$/.test(name) ? name : `Script=${name}`;
  try {
    return /^\w+$/.test(name) && Boolean(new RegExp(`\\p{${property}}`, 'u'));
  } catch {
    return false;
  }
}

const HEX = /\\x(?:([\da-fA-F]{2})|\{([\da-fA-F]+)\})/y;
const OCTAL = /\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/y;
const NO_HEX = /\\x(?:\{([\da-fA-F]*)[^]?|[\da-fA-F]?[^]?)/uy;
const CODE_MAX = 0x10_ffff;

/** How far Go reads of one that is not good: at most to the digit that makes it too large. */
function badHex(text: string, at: number): string {
  const [whole = '', digits = ''] = matchAt(NO_HEX, text, at) ?? [];
  for (let count = 1; count <= digits.length; count += 1)
    if (Number.parseInt(digits.slice(0, count), 16) > CODE_MAX) return `\\x{${digits.slice(0, count)}`;
  return whole;
}

/** Where an escape ends that stands for one character. */
function escapeEnd(text: string, at: number): number {
  if (at + 1 >= text.length) throw problem('trailing backslash at end of expression', '');
  const next = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  if (/[afnrtv]/.test(next) || /[\0-\x7f]/.test(next.replace(/[\da-zA-Z]/, '\u0100')))
    return at + 1 + next.length;
  const found = matchAt(HEX, text, at) ?? matchAt(OCTAL, text, at);
  if (found && Number.parseInt(found[2] ?? '0', 16) <= CODE_MAX) return at + found[0].length;
  const shown = next === 'x' ? badHex(text, at) : text.slice(at, at + 1 + next.length);
  throw problem('invalid escape sequence', shown);
}

const POSIX =
  /^\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]$/;

/** Where `[a-z]` ends. */
function classEnd({ text, at: start, lastNameEnd }: Reader): number {
  let at = start + (text.charAt(start + 1) === '^' ? 2 : 1);
  for (let isFirst = true; isFirst || text.charAt(at) !== ']'; isFirst = false) {
    const isName = text.startsWith('[:', at) && at + 2 <= lastNameEnd;
    const named = isName ? text.indexOf(':]', at + 2) : -1;
    if (named >= 0) {
      const name = text.slice(at, named + 2);
      if (!POSIX.test(name)) throw problem('invalid character class range', name);
      at = named + 2;
    } else at = (text.charAt(at) === '\\' ? setEnd(text, at) : undefined) ?? rangeEnd(text, at, start);
  }
  return at + 1;
}

function rangeEnd(text: string, at: number, start: number): number {
  const end = memberEnd(text, at, start);
  const next = text.charAt(end + 1);
  if (text.charAt(end) !== '-' || next === ']' || next === '') return end;
  const last = memberEnd(text, end + 1, start);
  if (codeOf(text.slice(end + 1, last)) < codeOf(text.slice(at, end)))
    throw problem('invalid character class range', text.slice(at, last));
  return last;
}

function memberEnd(text: string, at: number, start: number): number {
  if (at >= text.length) throw problem('missing closing ]', text.slice(start));
  return text.charAt(at) === '\\' ? escapeEnd(text, at) : at + widthAt(text, at);
}

const CONTROLS: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** The character that a member of a class stands for. */
function codeOf(member: string): number {
  if (!member.startsWith('\\')) return member.codePointAt(0) ?? 0;
  const escaped = member.slice(1);
  if (/^[0-7]/.test(escaped)) return Number.parseInt(escaped, 8);
  if (escaped.startsWith('x')) return Number.parseInt(escaped.replaceAll(/[x{}]/g, ''), 16);
  return CONTROLS[escaped] ?? escaped.codePointAt(0) ?? 0;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function problem(what: string, where: string): Problem {
  return new Problem(`${what}: \`${where}\``);
}
