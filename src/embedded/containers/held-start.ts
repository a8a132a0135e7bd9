/**
 * Programs that are held before their first instruction: a shell waits for the order to become the program. Meanwhile it is moved to where the
 * program is to run. Node has no call by which a new process begins elsewhere.
 */
import type { Duplex } from 'node:stream';
import { StateletError } from '../../types/errors.ts';
import { findProgram } from './privileges.ts';

/** The variables that shells change, or that `script` reads: the program gets them in another way. */
const SHELL_VARIABLES = [
  ...['BASHOPTS', 'EUID', 'IFS', 'LINENO', 'OLDPWD', 'OPTIND', 'PPID', 'PWD', 'SHELL', 'SHELLOPTS', 'SHLVL'],
  ...['UID', '_'],
];
const SHELL_NAME = /^[A-Za-z_]\w*$/;

/** The descriptor over which the shell waits until it may go on. */
export const HOLD_FD = 3;

export interface HeldProgram {
  readonly command: readonly string[];
  /** Whether the words of the command are those of the shell's own arguments: they may be more than fit into one. */
  readonly byArguments?: boolean;
  readonly env: Readonly<Record<string, string>>;
  /** The value of this variable is no secret, and the shell must not have it. */
  readonly notForShell?: string;
  /** Whether the shell sends its pid over the same descriptor. */
  readonly tellsPid?: boolean;
}

/**
 * What the shell runs, and its environment. The command line can be read by every user of the machine: values of variables are not in it.
 * A variable that a shell would lose or change is carried under another name, and `env` renames it.
 */
export function heldScript(program: HeldProgram): {
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const { command, env, notForShell, byArguments = false, tellsPid = false } = program;
  const carried: string[] = [];
  const shellEnv: Record<string, string> = {};
  const removed = new Set(SHELL_VARIABLES);
  for (const [name, value] of Object.entries(env)) {
    if (name === notForShell) carried.push(quote(`${name}=${value}`));
    else if (SHELL_NAME.test(name) && !SHELL_VARIABLES.includes(name)) shellEnv[name] = value;
    else {
      const alias = `STATELET_CARRIED_${removed.size}`;
      shellEnv[alias] = value;
      removed.add(alias);
      carried.push(`${quote(`${name}=`)}"$${alias}"`);
    }
  }
  const words = [
    quote(coreProgram('env')),
    ...[...removed].map((name) => `-u ${name}`),
    ...carried,
    // `env` would take a name with an equals sign for a variable.
    ...((command[0] ?? '').includes('=') ? [quote(coreProgram('nice')), '-n', '0'] : []),
    ...(byArguments ? ['"$@"'] : command.map(quote)),
  ];
  const tell = tellsPid ? `echo $$ >&${HOLD_FD}; ` : '';
  const wait = `read -r go <&${HOLD_FD} || exit 1; exec ${HOLD_FD}>&-`;
  return { script: `${tell}${wait}; exec ${words.join(' ')}`, env: shellEnv };
}

/** Lets the shell become the program. */
export function letGo(hold: Duplex): void {
  hold.end('go\n', () => hold.destroy());
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

function coreProgram(name: string): string {
  const found = findProgram(name, process.env.PATH ?? '', '/');
  if (found !== undefined) return found;
  throw new StateletError('FailedPrecondition', `${name} is not in the PATH of the agent: install coreutils`);
}
