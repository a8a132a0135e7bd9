/**
 * Terminals for processes. Node has no call that makes a pseudo terminal. `script` of util-linux, which nearly every Linux
 * has, makes one and copies between it and two pipes. It is a process of its own: the terminal stays when the monitor is
 * killed.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { BoundedOutput, runCommand } from '../../system/run-command.ts';
import { StateletError } from '../../types/errors.ts';
import type { TerminalSize } from '../../agent/runtime/service/streaming-runtime.ts';
import { checkProgram, launch, type ProcessSpec, StartError } from '../containers/launch.ts';
import { findProgram } from '../containers/privileges.ts';
import { CONTAINER_ID_VARIABLE, type ProcessIdentity, readStat } from '../containers/proc.ts';

/** The variables that shells change, or that `script` reads: the process gets them in another way. */
const SHELL_VARIABLES = ['IFS', 'LINENO', 'OLDPWD', 'OPTIND', 'PPID', 'PWD', 'SHELL', 'SHLVL', '_'];
const SHELL_NAME = /^[A-Za-z_]\w*$/;
/** The descriptor over which the shell tells its pid and waits until it may go on. */
const HANDSHAKE_FD = 3;

export interface TerminalProcess {
  /** `script`: it ends after the process, with the exit code of the process. */
  readonly holder: ChildProcess;
  /** The process in the terminal, which leads its session. */
  readonly identity: ProcessIdentity;
}

/** Throws a StateletError if no terminal can be made on this machine. `who`: who needs one. */
export function requireTerminals(who: string): void {
  program('script', who);
}

export interface TerminalEnds {
  /** Descriptors of what is typed and shown. */
  readonly stdin: number;
  readonly stdout: number;
  /** The size that the terminal has from the start, if it is known by then. */
  readonly size?: () => TerminalSize | undefined;
}

/** Starts a process in a terminal of its own. */
export async function launchInTerminal(
  spec: ProcessSpec,
  { stdin, stdout, size }: TerminalEnds,
): Promise<TerminalProcess> {
  const [command = ''] = spec.command;
  checkProgram(command, spec);
  if (command.includes('=')) {
    // `env` would take it for a variable.
    throw new StartError(
      128,
      `command "${command}" cannot run in a terminal: it has an equals sign in its name`,
    );
  }
  const { script, env } = startScript(spec);
  const holderSpec = {
    ...spec,
    env,
    command: [program('script'), '-q', '-e', '-f', '-c', script, '/dev/null'],
  };
  const holder = await launch(holderSpec, [stdin, stdout, 'pipe', 'pipe']);
  const { identity, start } = await awaitShell(holder, command);
  // Another size may come while one is being set.
  let applied: TerminalSize | undefined;
  for (let wanted = size?.(); wanted !== undefined && wanted !== applied; wanted = size?.()) {
    await resizeTerminal(identity.pid, wanted).catch(() => undefined);
    applied = wanted;
  }
  start();
  return { holder, identity };
}

/** Tells the terminal of a process its size; the system tells the processes in it by SIGWINCH. */
export async function resizeTerminal(pid: number, { width, height }: TerminalSize): Promise<void> {
  const terminal = terminalOf(pid);
  if (terminal === undefined) return;
  await runCommand('stty', ['-F', terminal, 'cols', String(width), 'rows', String(height)]);
}

const PTS_MAJOR = 136;

/** The terminal of the process's session; undefined if it has none, or has ended. */
function terminalOf(pid: number): string | undefined {
  const device = readStat(pid)?.terminal ?? 0;
  const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >>> 12) & 0xfff00)];
  return major === PTS_MAJOR ? `/dev/pts/${minor}` : undefined;
}

const PACKAGES = { script: 'util-linux (Debian: bsdutils)', env: 'coreutils' } as const;

function program(name: keyof typeof PACKAGES, who = 'the command'): string {
  const found = findProgram(name, process.env.PATH ?? '', '/');
  if (found !== undefined) return found;
  const message =
    `${who} needs a terminal, and the embedded runtime makes terminals with the program ${name}, which is not in its PATH: ` +
    `install ${PACKAGES[name]}, or do without a terminal (tty)`;
  throw new StateletError('FailedPrecondition', message);
}

/**
 * What the shell of `script` runs, and its environment. The command line can be read by every user of the machine: values of
 * variables are not in it. A variable that a shell would lose or change is carried under another name, and `env` renames it.
 */
function startScript({ command, env }: ProcessSpec): { script: string; env: Record<string, string> } {
  const carried: string[] = [];
  const shellEnv: Record<string, string> = { SHELL: '/bin/sh' };
  const removed = new Set(SHELL_VARIABLES);
  for (const [name, value] of Object.entries({ TERM: 'xterm', ...env })) {
    if (name === CONTAINER_ID_VARIABLE) {
      // Not in the environment of `script`: it is no process of the container, and outlives it to copy the last output.
      carried.push(quote(`${name}=${value}`));
    } else if (SHELL_NAME.test(name) && !SHELL_VARIABLES.includes(name)) shellEnv[name] = value;
    else {
      const alias = `STATELET_CARRIED_${removed.size}`;
      shellEnv[alias] = value;
      removed.add(alias);
      carried.push(`${quote(`${name}=`)}"$${alias}"`);
    }
  }
  const words = [
    quote(program('env')),
    ...[...removed].map((name) => `-u ${name}`),
    ...carried,
    ...command.map(quote),
  ];
  const handshake = `echo $$ >&${HANDSHAKE_FD}; read -r go <&${HANDSHAKE_FD} || exit 1; exec ${HANDSHAKE_FD}>&-`;
  return { script: `${handshake}; exec ${words.join(' ')}`, env: shellEnv };
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** The shell in a new terminal. */
interface Shell {
  readonly identity: ProcessIdentity;
  /** Lets it become the command. */
  readonly start: () => void;
}

/** Resolves once the shell has told its pid. */
async function awaitShell(holder: ChildProcess, command: string): Promise<Shell> {
  const complaints = new BoundedOutput();
  holder.stderr?.on('error', () => undefined).on('data', (chunk: Buffer) => complaints.add(chunk));
  const handshake = holder.stdio[HANDSHAKE_FD] as Duplex;
  handshake.on('error', () => undefined);
  const ended = once(holder, 'close').then(() => []);
  const [line] = (await Promise.race([once(handshake, 'data'), ended])) as [Buffer?];
  const pid = Number(line?.toString() ?? Number.NaN);
  const stat = Number.isNaN(pid) ? undefined : readStat(pid);
  if (stat === undefined) {
    holder.kill('SIGKILL');
    const why = complaints.toString().trim() || 'script has ended';
    throw new StartError(128, `command "${command}" could not get a terminal: ${why}`);
  }
  const start = (): void => void handshake.end('go\n', () => handshake.destroy());
  return { identity: { pid, startTicks: stat.startTicks }, start };
}
