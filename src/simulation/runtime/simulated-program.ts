/** What a simulated container or command does. */
export interface Program {
  /** It ends by itself after this time; undefined: never. */
  readonly takesMs?: number;
  readonly exitCode: number;
  /** How it ends on SIGTERM; undefined: it ignores SIGTERM. */
  readonly onTerm?: { readonly takesMs: number; readonly exitCode: number };
  /** Set if it cannot be started. */
  readonly startError?: { readonly exitCode: number; readonly message: string };
  /** Of a command: until its container has run for this long, it ends the other way (0 or 1). */
  readonly untilMs?: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

const SIGTERM_EXIT_CODE = 143;
const NOT_FOUND_EXIT_CODE = 127;
const START_ERROR_EXIT_CODE = 128;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const ENDS_ON_TERM = { takesMs: 0, exitCode: SIGTERM_EXIT_CODE };

const VERBS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ['run', { exitCode: 0, onTerm: ENDS_ON_TERM }],
  ['succeed', { exitCode: 0, takesMs: 0, onTerm: ENDS_ON_TERM }],
  ['fail', { exitCode: 1, takesMs: 0, onTerm: ENDS_ON_TERM }],
  ['crash-at-start', { exitCode: 0, startError: startError('it was told to') }],
]);

type Option = (program: Program, value: string) => Program;

const OPTIONS: ReadonlyMap<string, Option> = new Map<string, Option>([
  ['exit-after', (program, value) => ({ ...program, takesMs: durationMs(value) })],
  ['takes', (program, value) => ({ ...program, takesMs: durationMs(value) })],
  ['code', (program, value) => ({ ...program, exitCode: exitCode(value) })],
  [
    'term-takes',
    (program, value) => ({ ...program, onTerm: { ...termOf(program), takesMs: durationMs(value) } }),
  ],
  [
    'term-code',
    (program, value) => ({ ...program, onTerm: { ...termOf(program), exitCode: exitCode(value) } }),
  ],
  ['ignore-term', (program) => ({ ...program, onTerm: undefined })],
  ['crash-at-start', (program) => ({ ...program, startError: startError('it was told to') })],
  ['until', (program, value) => ({ ...program, untilMs: durationMs(value) })],
  ['stdout', (program, value) => ({ ...program, stdout: `${value}\n` })],
  ['stderr', (program, value) => ({ ...program, stderr: `${value}\n` })],
]);

/**
 * A verb, and options in any order:
 *
 * - `run` runs until it is stopped, `succeed` and `fail` end at once with 0 and 1, `crash-at-start` cannot be
 *   started. No words at all: `run`.
 * - `exit-after=5s` (or `takes=5s`): ends by itself after this time; `code=3`: with this exit code.
 * - `term-takes=2s`: takes this time to end on SIGTERM; `term-code=0`: ends with this code then, not with 143;
 *   `ignore-term`: ignores SIGTERM.
 * - `until=30s`, of a command: until its container has run for this long, it ends the other way.
 * - `stdout=text`, `stderr=text`: what a command writes.
 *
 * Words that cannot be understood cannot be started, as a program that does not exist.
 */
export function parseProgram(words: readonly string[]): Program {
  const [verb = 'run', ...options] = words;
  try {
    return options.reduce(withOption, known(VERBS, verb));
  } catch (error) {
    if (!(error instanceof UnknownWord)) throw error;
    return { exitCode: 0, startError: { exitCode: NOT_FOUND_EXIT_CODE, message: error.message } };
  }
}

class UnknownWord extends Error {}

function withOption(program: Program, word: string): Program {
  const [name = '', ...value] = word.split('=');
  return known(OPTIONS, name)(program, value.join('='));
}

function known<T>(vocabulary: ReadonlyMap<string, T>, word: string): T {
  const meaning = vocabulary.get(word);
  if (meaning !== undefined) return meaning;
  const words = [...vocabulary.keys()].join(', ');
  throw new UnknownWord(`"${word}" means nothing to a simulated container; what does is ${words}`);
}

function startError(message: string): Program['startError'] {
  return { exitCode: START_ERROR_EXIT_CODE, message };
}

const termOf = ({ onTerm }: Program) => onTerm ?? ENDS_ON_TERM;

function durationMs(text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  if (amount === undefined) throw new UnknownWord(`"${text}" is no duration such as 500ms, 5s or 1h`);
  return Math.round(Number(amount) * (UNIT_MS[unit] ?? 1));
}

function exitCode(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw new UnknownWord(`"${text}" is no exit code`);
  return Number(text);
}
