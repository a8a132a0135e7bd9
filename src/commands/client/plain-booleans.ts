/** kubectl's users write `--wait=false`: commander knows only `--wait` and `--no-wait`. */

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

/** `argv` with `--wait` for `--wait=true`, and `--no-wait` for `--wait=false`; other flags that are false are left out. */
export function withPlainBooleans(argv: readonly string[]): readonly string[] {
  if (!COMMANDS.has(argv[2] ?? '')) return argv;
  const end = argv.indexOf('--');
  const [flags, rest] = end === -1 ? [argv, []] : [argv.slice(0, end), argv.slice(end)];
  return [...flags.flatMap(plain), ...rest];
}

function plain(word: string): readonly string[] {
  const [, name = '', value] = /^--([a-z-]+)=(true|false)$/u.exec(word) ?? [];
  if (!BOOLEANS.has(name)) return [word];
  if (value === 'true') return [`--${name}`];
  return DEFAULT_TRUE.has(name) ? [`--no-${name}`] : [];
}
