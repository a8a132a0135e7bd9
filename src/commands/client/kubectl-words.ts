/** What kubectl's users write and commander does not know: `--wait=false`, `-o=json`, and `-n NAME` before the command. */

/** The commands with kubectl's flags. Others have flags of the same names that take a value. */
const COMMANDS: ReadonlySet<string> = new Set([
  'top',
  'events',
  'get',
  'describe',
  'apply',
  'delete',
  'exec',
  'attach',
  'port-forward',
  'logs',
]);
/** Those of their flags that are true or false. */
const BOOLEANS: ReadonlySet<string> = new Set([
  'all',
  'all-containers',
  'all-namespaces',
  'containers',
  'follow',
  'force',
  'ignore-not-found',
  'no-headers',
  'now',
  'prefix',
  'previous',
  'quiet',
  'recursive',
  'show-events',
  'show-labels',
  'stdin',
  'sum',
  'timestamps',
  'tty',
  'wait',
  'watch',
  'watch-only',
]);

const DEFAULT_TRUE: ReadonlySet<string> = new Set(['show-events', 'wait']);

/** Flags of which kubectl does not mind that they stand before the command. */
const ANYWHERE = /^(?:-n|--namespace|--root-dir)(?:=.*)?$/su;

/** `argv` with `--wait` for `--wait=true`, and `--no-wait` for `--wait=false`; other flags that are false are left out. */
export function withPlainWords(argv: readonly string[]): readonly string[] {
  const [node = '', program = '', ...all] = argv;
  const words = withCommandFirst(all);
  if (!COMMANDS.has(words[0] ?? '')) return argv;
  const end = words.indexOf('--');
  const [own, rest] = end === -1 ? [words, []] : [words.slice(0, end), words.slice(end)];
  return [node, program, ...own.flatMap(plain), ...rest];
}

/** `-n NAME get pods` as `get -n NAME pods`. */
export function withCommandFirst(words: readonly string[]): readonly string[] {
  let at = 0;
  while (ANYWHERE.test(words[at] ?? '')) at += words[at]?.includes('=') === true ? 1 : 2;
  const [command] = words.slice(at, at + 1);
  return command === undefined ? words : [command, ...words.slice(0, at), ...words.slice(at + 1)];
}

function plain(word: string): readonly string[] {
  const [, short, given] = /^(-[A-Za-z])=(.*)$/su.exec(word) ?? [];
  if (short !== undefined && given !== undefined) return given === 'true' ? [short] : [short, given];
  const [, name = '', value] = /^--([a-z-]+)=(true|false)$/u.exec(word) ?? [];
  if (!BOOLEANS.has(name)) return [word];
  if (value === 'true') return [`--${name}`];
  return DEFAULT_TRUE.has(name) ? [`--no-${name}`] : [];
}
