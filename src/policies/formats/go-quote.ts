/** Text in quotes as Go's `%q` writes it. */

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
