/**
 * The limits of Linux on a program's command, arguments and variables, so that no more is made, copied and sent to a runtime; and `$(VAR)` in
 * them, replaced within these limits.
 */
import { invalid, type StateletError } from '../../../types/errors.ts';

/** Linux' MAX_ARG_STRLEN, with the NUL at the end; of a variable with its name. */
const WORD_BYTES_MAX = 128 * 1024;
/** What `execve` takes of all together, with the largest stack. With the usual stack of 8 MiB it takes 2 MiB. */
export const EXEC_BYTES_MAX = 6 * 1024 * 1024;
/** More than any program is given. Many sources of variables may name one object with as many keys. */
const VARIABLES_MAX = 100_000;
/** How much of a variable's name messages show. */
const NAME_SHOWN_MAX = 100;
/** Each word also takes a pointer and a NUL. */
const WORD_OVERHEAD_BYTES = 9;

const ENCODER = new TextEncoder();
const SHORT_LENGTH = 256;
const ASCII_MAX = 0x7f;

/**
 * Counts the words that a container is started with. The methods return what they have counted, and throw a StateletError of kind
 * InvalidArgument for more than Linux takes. `undefined` is a text that `expandVariables` has not made, because it is too long.
 */
export class ExecSize {
  readonly #container: string;
  #bytes = 0;
  #variables = 0;

  constructor({ name }: { readonly name: string }) {
    this.#container = name;
  }

  /** The values that a later variable of the same name replaces count as well: each has to be made. */
  variable(name: string, value: string | undefined): string {
    this.#variables += 1;
    if (this.#variables > VARIABLES_MAX) throw this.#tooMany(name);
    return this.#count(() => `environment variable ${shownName(name)}`, value, byteLength(name) + 1);
  }

  /** `what`: `args[2]`. */
  word(what: string, text: string | undefined): string {
    return this.#count(() => what, text, 0);
  }

  /** `what` is a function, because its text is made only for an error: there may be hundreds of thousands of words. */
  #count(what: () => string, text: string | undefined, bytesBefore: number): string {
    if (text === undefined) throw this.#tooLong(what());
    const bytes = bytesBefore + byteLength(text) + 1;
    if (bytes > WORD_BYTES_MAX) throw this.#tooLong(what());
    this.#bytes += bytes + WORD_OVERHEAD_BYTES - 1;
    if (this.#bytes > EXEC_BYTES_MAX) throw this.#tooLarge(what());
    return text;
  }

  #tooLong(what: string): StateletError {
    return invalid(
      `${what} of container "${this.#container}" is longer than 128 KiB, the limit of Linux; shorten it, or mount it ` +
        'as a file of a volume',
    );
  }

  #tooMany(name: string): StateletError {
    return invalid(
      `container "${this.#container}" has more than 100,000 environment variables, up to ${shownName(name)}; leave some of its envFrom out`,
    );
  }

  #tooLarge(what: string): StateletError {
    return invalid(
      `the command, arguments and environment variables of container "${this.#container}" have more than 6 MiB together, up to ` +
        `${what}, and Linux accepts no more; leave some out, or mount them as files of a volume`,
    );
  }
}

/** The name of a variable for messages: in quotes, cut short. */
export function shownName(name: string): string {
  return JSON.stringify(name.length > NAME_SHOWN_MAX ? `${name.slice(0, NAME_SHOWN_MAX)}…` : name);
}

/** A text has at least as many bytes as it has UTF-16 units: very long ones are not copied, and short ones of ASCII are counted as they are. */
function byteLength(text: string): number {
  const { length } = text;
  if (length > WORD_BYTES_MAX) return length;
  if (length > SHORT_LENGTH) return ENCODER.encode(text).length;
  for (let index = 0; index < length; index++)
    if (text.charCodeAt(index) > ASCII_MAX) return ENCODER.encode(text).length;
  return length;
}

/** Counts the files from which a container's variables are read, before they are searched. Throws as `ExecSize` does. */
export class EnvFilesSize {
  readonly #container: string;
  #length = 0;

  constructor({ name }: { readonly name: string }) {
    this.#container = name;
  }

  add({ volumeName, path }: { readonly volumeName: string; readonly path: string }, text: string): void {
    this.#length += text.length;
    if (this.#length <= EXEC_BYTES_MAX) return;
    throw invalid(
      `couldn't parse env file: the files of environment variables of container "${this.#container}" have more than 6 MiB together, ` +
        `up to ${path} of volume ${volumeName}; put what the container needs into fewer files`,
    );
  }
}

// `$(VAR)` in commands, arguments, variables and paths, in linear time and with a bounded result.

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
