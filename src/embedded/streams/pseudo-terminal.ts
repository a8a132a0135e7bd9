/**
 * Terminals for processes. Node has no call that makes a pseudo terminal. `script` of util-linux, which nearly every Linux
 * has, makes one and copies between it and two pipes. It is a process of its own: the terminal stays when the monitor is
 * killed.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { BoundedOutput, runCommand } from '../../system/run-command.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { TerminalSize } from '../../agent/runtime/service/streaming-runtime.ts';
import { heldScript, HOLD_FD, letGo } from '../containers/held-start.ts';
import { checkProgram, launch, type ProcessSpec, StartError } from '../containers/launch.ts';
import { findProgram } from '../containers/privileges.ts';
import { CONTAINER_ID_VARIABLE, type ProcessIdentity, readStat } from '../containers/proc.ts';

export interface TerminalProcess {
  /** `script`: it ends after the process, with the exit code of the process. */
  readonly holder: ChildProcess;
  /** The process in the terminal, which leads its session. */
  readonly identity: ProcessIdentity;
}

/** Throws a StateletError if no terminal can be made on this machine. `who`: who needs one. */
export function requireTerminals(who: string): void {
  scriptProgram(who);
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
  const { script, env } = heldScript({
    command: spec.command,
    env: { TERM: 'xterm', ...spec.env },
    // `script` is no process of the container, and outlives it to copy the last output.
    notForShell: CONTAINER_ID_VARIABLE,
    tellsPid: true,
  });
  const { cgroup, ...ofHolder } = spec;
  const holderSpec = {
    ...ofHolder,
    env: { ...env, SHELL: '/bin/sh' },
    command: [scriptProgram(), '-q', '-e', '-f', '-c', script, '/dev/null'],
  };
  const holder = await launch(holderSpec, [stdin, stdout, 'pipe', 'pipe']);
  const { identity, start } = await awaitShell(holder, command);
  try {
    cgroup?.join(identity.pid);
  } catch (error) {
    holder.kill('SIGKILL');
    throw new StartError(128, errorMessage(error), error);
  }
  // Another size may come while one is being set.
  let applied: TerminalSize | undefined;
  for (let wanted = size?.(); wanted !== undefined && wanted !== applied; wanted = size?.()) {
    await resizeTerminal(identity.pid, wanted).catch(() => undefined);
    applied = wanted;
  }
  start();
  return { holder, identity };
}

/** Sets the size of the terminal of a process; the system notifies the processes in it by SIGWINCH. */
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

function scriptProgram(who = 'the command'): string {
  const found = findProgram('script', process.env.PATH ?? '', '/');
  if (found !== undefined) return found;
  const message =
    `${who} needs a terminal, and the embedded runtime makes terminals with the program script, which is not in its PATH: ` +
    'install util-linux (Debian: bsdutils), or do without a terminal (tty)';
  throw new StateletError('FailedPrecondition', message);
}

interface Shell {
  readonly identity: ProcessIdentity;
  /** Lets it become the command. */
  readonly start: () => void;
}

/** Resolves once the shell has sent its pid. */
async function awaitShell(holder: ChildProcess, command: string): Promise<Shell> {
  const complaints = new BoundedOutput();
  holder.stderr?.on('error', () => undefined).on('data', (chunk: Buffer) => complaints.add(chunk));
  const handshake = holder.stdio[HOLD_FD] as Duplex;
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
  return { identity: { pid, startTicks: stat.startTicks }, start: () => letGo(handshake) };
}
