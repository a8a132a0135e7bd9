import type { ChildProcess } from 'node:child_process';
import { StateletError } from '../../../types/errors.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { isRunning, readStat } from './proc.ts';
import type { ProcessIdentity } from './proc.ts';

/** By name, or by number: real-time signals have no name in Node. */
export type Signal = NodeJS.Signals | number;

/** How a process ended; undefined where only its parent, which is gone, could have known. */
export type Ending = { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;

/** A container's main process, leader of its session and group. */
export interface MainProcess {
  readonly identity: ProcessIdentity;
  readonly ended: Promise<Ending>;
  /** Sends a signal to this process alone, as a runtime does to process 1; does nothing once it has ended. */
  signal(signal: Signal): void;
  /** SIGKILL for the whole group; does nothing once the main process has ended. */
  killGroup(): void;
}

/** One that this monitor started. To be called before the event loop can have noticed its end. */
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
  // Its pid cannot belong to another one before the exit event has been heard.
  const sendTo = (target: number, what: Signal): void => {
    if (alive) send(target, what);
  };
  return { identity, ended, ...senders(identity, sendTo) };
}

const POLL_MS = 500;
const STOPPING_POLL_MS = 20;

export interface AdoptedProcess extends MainProcess {
  /** Looks now: something hints that it may have ended. */
  look(): void;
}

/**
 * One that a former monitor started. The kernel tells only a parent of a process' end, and a pidfd, which would do, is
 * out of Node's reach: so it is polled, more often once it has been signalled.
 */
export function adoptedProcess(identity: ProcessIdentity): AdoptedProcess {
  let pollMs = POLL_MS;
  let look = (): void => undefined;
  const ended = new Promise<Ending>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    look = () => {
      clearTimeout(timer);
      if (isRunning(identity)) timer = setTimeout(look, pollMs);
      else resolve(undefined);
    };
    look();
  });
  const sendTo = (target: number, what: Signal): void => {
    if (isRunning(identity)) send(target, what);
    pollMs = STOPPING_POLL_MS;
    look();
  };
  return { identity, ended, ...senders(identity, sendTo), look: () => look() };
}

/** A target that is negative is a group. */
type SendTo = (target: number, signal: Signal) => void;

function senders({ pid }: ProcessIdentity, sendTo: SendTo): Pick<MainProcess, 'signal' | 'killGroup'> {
  return { signal: (signal) => sendTo(pid, signal), killGroup: () => sendTo(-pid, 'SIGKILL') };
}

function send(target: number, signal: Signal): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // ESRCH: it was quicker. EPERM (it became another user's) must be known by whoever waits for its end.
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}
