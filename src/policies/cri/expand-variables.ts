/** `$(VAR)` in commands, arguments, variables and paths, in linear time and with a bounded result. */
import { WORD_BYTES_MAX } from './exec-size.ts';

type Variables = Pick<ReadonlyMap<string, string>, 'get'>;

interface Part {
  /** As it stands in the text; of `$$` one `$`. */
  readonly text: string;
  /** Of a reference. */
  readonly name?: string;
}

/**
 * `$(NAME)` is replaced if there is a variable NAME, and kept if there is none; `$$` stands for one `$`. Undefined where the result
 * would be longer than Linux takes: a few variables that repeat each other could fill the memory.
 */
export function expandVariables(text: string, env: Variables): string | undefined {
  const parts: string[] = [];
  let length = 0;
  for (const part of partsOf(text)) {
    const value = part.name === undefined ? part.text : (env.get(part.name) ?? part.text);
    length += value.length;
    if (length > WORD_BYTES_MAX) return undefined;
    parts.push(value);
  }
  return parts.join('');
}

/** The names that a text refers to; a name stands there as often as in the text. */
export function* referredNames(text: string): Iterable<string> {
  for (const { name } of partsOf(text)) if (name !== undefined) yield name;
}

function* partsOf(text: string): Iterable<Part> {
  let begin = 0;
  // Behind the last bracket there is no reference, and none is looked for: a search for each `$(` would take quadratic time.
  const lastBracket = text.lastIndexOf(')');
  for (let dollar = text.indexOf('$'); dollar >= 0; dollar = text.indexOf('$', Math.max(begin, dollar + 1))) {
    const isEscape = text[dollar + 1] === '$';
    const isReference = text[dollar + 1] === '(' && dollar < lastBracket;
    if (!isEscape && !isReference) continue;
    if (dollar > begin) yield { text: text.slice(begin, dollar) };
    const end = isEscape ? dollar + 2 : text.indexOf(')', dollar) + 1;
    if (isEscape) yield { text: '$' };
    else yield { text: text.slice(dollar, end), name: text.slice(dollar + 2, end - 1) };
    begin = end;
  }
  if (begin < text.length) yield { text: text.slice(begin) };
}
