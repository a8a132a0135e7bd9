import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { errnoCode } from '../../system/system-errors.ts';
import { systemClock, Timer } from '../../system/timer.ts';
import { StateletError } from '../../types/errors.ts';
import type { ContainerInput } from '../streams/container-input.ts';
import { launchInTerminal, type TerminalProcess } from '../streams/pseudo-terminal.ts';
import { hasEnded, launch, type ProcessSpec } from './launch.ts';
import { withContainerEnds } from './pipes.ts';
import { isRunning, type ProcessIdentity, readStat } from './proc.ts';

/** A name, or a number: real-time signals have no name in Node. */
export type Signal = NodeJS.Signals | number;

/** How a process ended; undefined if only its parent could have known, and the parent is gone. */
export type Ending = { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;

/** A container's main process, leader of its session and group. */
export interface MainProcess {
  readonly identity: ProcessIdentity;
  readonly ended: Promise<Ending>;
  /** Sends a signal to this process alone, as container runtimes do. Does nothing once it has ended. */
  signal(signal: Signal): void;
  /** Sends SIGKILL to the whole group. Does nothing once the main process has ended. */
  killGroup(): void;
}

/** A process that this monitor has started. To be called before the event loop can deliver its `exit` event. */
export function childProcess(child: ChildProcess): MainProcess {
  const pid = child.pid;
  const stat = pid === undefined ? undefined : readStat(pid);
  if (stat === undefined) throw new StateletError('Internal', `process ${pid ?? '?'} is not in /proc`);
  let alive = true;
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => {
      alive = false;
      resolve({ code, signal });
    });
  });
  const identity = { pid: stat.pid, startTicks: stat.startTicks };
  // Its pid cannot belong to another process before its `exit` event.
  const sendTo = (target: number, what: Signal): void => {
    if (alive) send(target, what);
  };
  return { identity, ended, ...senders(identity, sendTo) };
}

function terminalProcess({ holder, identity }: TerminalProcess): MainProcess {
  const ended = new Promise<Ending>((resolve) => {
    holder.once('exit', (code, signal) => resolve({ code, signal }));
    if (hasEnded(holder)) resolve({ code: holder.exitCode, signal: holder.signalCode });
  });
  const sendTo = (target: number, what: Signal): void => {
    if (isRunning(identity)) send(target, what);
  };
  return { identity, ended, ...senders(identity, sendTo) };
}

const POLL_MS = 500;
const STOPPING_POLL_MS = 20;

export interface AdoptedProcess extends MainProcess {
  /** Checks now whether it still runs: something hints that it has ended. */
  check(): void;
}

/**
 * A process that an earlier monitor has started. The kernel tells only the parent of a process about its end, and
 * Node has no pidfd: so it is polled, more often once a signal has been sent.
 */
export function adoptedProcess(identity: ProcessIdentity): AdoptedProcess {
  let pollMs = POLL_MS;
  const timer = new Timer(systemClock);
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  const check = (): void => {
    timer.disarm();
    if (isRunning(identity)) timer.arm(pollMs, check);
    else resolve(undefined);
  };
  check();
  const sendTo = (target: number, what: Signal): void => {
    if (isRunning(identity)) send(target, what);
    pollMs = STOPPING_POLL_MS;
    check();
  };
  return { identity, ended, ...senders(identity, sendTo), check };
}

/** A negative target is a process group. */
type SendTo = (target: number, signal: Signal) => void;

function senders({ pid }: ProcessIdentity, sendTo: SendTo): Pick<MainProcess, 'signal' | 'killGroup'> {
  return { signal: (signal) => sendTo(pid, signal), killGroup: () => sendTo(-pid, 'SIGKILL') };
}

function send(target: number, signal: Signal): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // ESRCH: it has ended meanwhile. EPERM (it has changed to another user) is an error: the caller waits for its end.
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}

export interface MainStreams {
  /** Undefined: an empty input. */
  readonly input: ContainerInput | undefined;
  /** The pipes of stdout and stderr; the one of the terminal alone. */
  readonly outputs: readonly string[];
  readonly tty: boolean;
}

/** Starts the main process of a container with its ends of the pipes. */
export async function startMain(
  spec: ProcessSpec,
  { input, outputs, tty }: MainStreams,
): Promise<MainProcess> {
  return withContainerEnds(outputs, async ([stdout = -1, stderr = stdout]) => {
    const stdin = input?.open();
    try {
      if (tty && stdin !== undefined) return terminalProcess(await launchInTerminal(spec, { stdin, stdout }));
      return childProcess(await launch(spec, [stdin ?? 'ignore', stdout, stderr]));
    } catch (error) {
      input?.close();
      throw error;
    } finally {
      if (stdin !== undefined) closeSync(stdin);
    }
  });
}
