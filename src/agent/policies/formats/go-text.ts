/** Texts, numbers, JSON and lists of errors as Go writes them. */

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** As Go writes and reads what is true. */
const TRUE: readonly string[] = ['1', 't', 'T', 'true', 'TRUE', 'True'];

export function isGoTrue(text: string): boolean {
  return TRUE.includes(text);
}

/** Text in quotes, as Go's `%q` writes it. */
export function goQuote(text: string): string {
  return `"${Array.from(text, (character) => quotedCharacter(character)).join('')}"`;
}

/** As `goQuote`, of bytes: those that are not UTF-8 are written as `\xNN`. */
export function goQuoteBytes(bytes: Uint8Array): string {
  let quoted = '';
  for (let index = 0; index < bytes.length;) {
    const length = sequenceLength(bytes, index);
    const part = bytes.subarray(index, index + Math.max(length, 1));
    quoted +=
      length === 0
        ? `\\x${hex(part[0] ?? 0, 2)}`
        : quotedCharacter(new TextDecoder('utf-8', { ignoreBOM: true }).decode(part));
    index += part.length;
  }
  return `"${quoted}"`;
}

/** The bytes of the UTF-8 character at `index`; 0: there is none. */
function sequenceLength(bytes: Uint8Array, index: number): number {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for (let length = 1; length <= 4 && index + length <= bytes.length; length += 1) {
    try {
      decoder.decode(bytes.subarray(index, index + length));
      return length;
    } catch {
      // It may be a longer character.
    }
  }
  return 0;
}

function quotedCharacter(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x1_0000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, '0');
}

// Numbers as Go writes and reads them.

/** From a million on, Go writes an exponent. */
const EXPONENT_FORM_FROM = 6;

/** A number as Go prints a float64 with `%v`: the shortest digits that read back as the same number. */
export function goFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < EXPONENT_FORM_FROM) return value.toString();
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

const INT64_MIN = -(2n ** 63n);

const INT64_MAX = 2n ** 63n - 1n;

/** The number next to 2^63 that a check against int64 refuses. */
const BEYOND = 2 ** 63 + 2048;

/** Texts with numbers of which `asInt64` may have to look at the digits. */
export const MAY_EXCEED_INT64 = /922337203685477[56]/;

/**
 * The number that a text stands for. 2^63 stands for the largest int64 as well as for the numbers that are one too large: of those, the
 * answer is beyond what an int64 holds.
 */
export function asInt64(value: number, source: string | undefined): number {
  if (source === undefined || Math.abs(value) !== 2 ** 63) return value;
  const exact = exactly(source.replaceAll('_', ''));
  if (exact === undefined || (exact >= INT64_MIN && exact <= INT64_MAX)) return value;
  return Math.sign(value) * BEYOND;
}

/** Undefined for a text that is no whole number of JSON or YAML 1.1. */
function exactly(text: string): bigint | undefined {
  const [, sign = '', digits = ''] = /^([-+]?)(0x[0-9a-f]+|0b[01]+|0[0-7]+|\d+)$/i.exec(text) ?? [];
  if (digits === '') return undefined;
  const size = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  return sign === '-' ? -size : size;
}

// JSON as Go's encoding/json writes it: besides what JSON demands, it escapes what could end a script in a web page.

const ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** `indent`: how many spaces each level has; 0 or left out: everything in one line. */
export function goJSON(value: unknown, indent = 0): string {
  // These characters can only stand within strings, so the whole text can be escaped.
  return JSON.stringify(value, undefined, indent).replaceAll(
    /[<>&\u2028\u2029]/gu,
    (character) => ESCAPES[character] ?? character,
  );
}

/** Several problems as Kubernetes writes them in one message: `[a, b]`, each once. */
export function asOneMessage(problems: readonly string[]): string {
  const [first = '', ...others] = new Set(problems);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}
