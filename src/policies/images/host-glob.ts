/** Patterns of host names in docker's configurations. They come from Secrets of pods, so that they are matched without a regular expression. */

/** A name of a host has 253 characters at most. */
const LABEL_LENGTH_MAX = 253;
const PATTERN_LENGTH_MAX = 4_096;

type Token =
  | { readonly kind: 'any' | 'one' }
  | { readonly kind: 'character'; readonly character: string }
  | { readonly kind: 'range'; readonly expression: RegExp };

const SPECIAL = /[*?[]/u;

/** `*` matches any text, `?` any character, `[a-c]` and `[^a-c]` a range, each within one label of a host name. */
export function globFits(pattern: string, label: string): boolean {
  if (!SPECIAL.test(pattern)) return pattern === label;
  if (label.length > LABEL_LENGTH_MAX || pattern.length > PATTERN_LENGTH_MAX) return false;
  const tokens = tokensOf(pattern);
  return tokens !== undefined && tokensFit(tokens, Array.from(label));
}

/** Undefined for a range that is none. */
function tokensOf(pattern: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  const lastBracket = pattern.lastIndexOf(']');
  for (let at = 0; at < pattern.length;) {
    const character = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    const end = character === '[' && at < lastBracket ? rangeEnd(pattern, at) : undefined;
    const token = end === undefined ? plainToken(character) : rangeToken(pattern.slice(at + 1, end));
    if (token === undefined) return undefined;
    // Of several stars in a row one is enough.
    if (token.kind !== 'any' || tokens.at(-1)?.kind !== 'any') tokens.push(token);
    at = end === undefined ? at + character.length : end + 1;
  }
  return tokens;
}

/** Undefined where there is nothing between the brackets. */
function rangeEnd(pattern: string, at: number): number | undefined {
  const begin = pattern[at + 1] === '^' ? at + 2 : at + 1;
  const end = pattern.indexOf(']', begin);
  return end > begin ? end : undefined;
}

function plainToken(character: string): Token {
  if (character === '*') return { kind: 'any' };
  return character === '?' ? { kind: 'one' } : { kind: 'character', character };
}

function rangeToken(inner: string): Token | undefined {
  const [not, range] = inner.startsWith('^') ? ['^', inner.slice(1)] : ['', inner];
  try {
    const expression = new RegExp(`^[${not}${range.replaceAll(/[\\[]/gu, String.raw`\$&`)}]$`, 'u');
    return { kind: 'range', expression };
  } catch {
    return undefined;
  }
}

/** Only the last star is tried with a longer text: what an earlier one takes less, a later one can take. */
function tokensFit(tokens: readonly Token[], characters: readonly string[]): boolean {
  let [token, at] = [0, 0];
  let star: { readonly token: number; at: number } | undefined;
  while (at < characters.length) {
    const next = tokens[token];
    if (next?.kind === 'any') {
      star = { token, at };
      token += 1;
    } else if (next !== undefined && fitsOne(next, characters[at] ?? '')) {
      [token, at] = [token + 1, at + 1];
    } else {
      if (star === undefined) return false;
      star.at += 1;
      [token, at] = [star.token + 1, star.at];
    }
  }
  return tokens.slice(token).every(({ kind }) => kind === 'any');
}

function fitsOne(token: Token, character: string): boolean {
  if (token.kind === 'character') return token.character === character;
  return token.kind === 'one' || (token.kind === 'range' && token.expression.test(character));
}
