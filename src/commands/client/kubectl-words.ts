/** What kubectl's users write and commander does not know: `--wait=false`, `-o=json`, and `-n NAME` before the command. */

import { StateletError } from '../../types/errors.ts';

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

const CHANGE = 'change the manifest, and type "statelet apply -f FILE"';

/** Commands of kubectl that do not exist here, and those that do the same. */
const INSTEAD: Readonly<Record<string, string>> = {
  cp: 'tar copies: "statelet exec web -- tar c DIR | tar x", "tar c DIR | statelet exec -i web -- tar x -C /tmp"',
  create: '"statelet apply -f FILE" makes what is not there, too',
  replace: '"statelet apply -f FILE" replaces what it has written',
  edit: CHANGE,
  patch: CHANGE,
  label: CHANGE,
  annotate: CHANGE,
  set: CHANGE,
  wait: '"statelet get pods -w" shows changes, and "statelet why POD" what a pod waits for',
  debug: '"statelet why POD" says what a pod waits for, and "statelet exec -it POD -- sh" runs a shell in it',
  rollout: 'a node has only pods; "statelet delete POD" ends one',
  scale: 'a node has only pods: each has a manifest of its own',
  version: '"statelet --version" prints the version',
  drain: '"statelet delete --all" ends the pods of a namespace',
};

/** Throws `InvalidArgument` for a command of kubectl that has another name here. */
export function refuseCommandOfKubectl(name: string): void {
  if (!Object.hasOwn(INSTEAD, name)) return;
  throw new StateletError('InvalidArgument', `unknown command '${name}': ${INSTEAD[name] ?? ''}`);
}

/** Flags that kubectl accepts before the command. */
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
  if (short !== undefined && given !== undefined) {
    if (given === 'false') return [];
    return given === 'true' ? [short] : [short, given];
  }
  const [, name = '', value] = /^--([a-z-]+)=(true|false)$/u.exec(word) ?? [];
  if (!BOOLEANS.has(name)) return [word];
  if (value === 'true') return [`--${name}`];
  return DEFAULT_TRUE.has(name) ? [`--no-${name}`] : [];
}
