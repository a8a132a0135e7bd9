import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { errorMessage, invalid, StateletError } from '../../types/errors.ts';
import type { ContainerConfig } from '../../types/cri.ts';
import { readPlainFile } from '../../system/plain-file.ts';
import { errnoCode } from '../../system/system-errors.ts';
import type { ContainerCgroup } from './container-cgroup.ts';
import { heldScript, HOLD_FD, letGo } from './held-start.ts';
import type { MountNamespace } from '../mounts/mount-namespace.ts';
import { findProgram, isExecutable, type User } from './privileges.ts';

export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** How to start a process of a container. */
export interface ProcessSpec {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly user?: User;
  /** The command that starts it with fewer privileges; it sets the user as well. */
  readonly privileges?: readonly string[];
  /** Where the container has its mounts. */
  readonly namespace?: Pick<MountNamespace, 'entering' | 'seen'>;
  /** In which it begins. */
  readonly cgroup?: Pick<ContainerCgroup, 'join'>;
}

/** A process could not be started. The exit code is the one that shells give for the cause. */
export class StartError extends StateletError {
  readonly exitCode: 126 | 127 | 128;

  constructor(exitCode: 126 | 127 | 128, message: string, cause?: unknown) {
    super('FailedPrecondition', message, { cause });
    this.exitCode = exitCode;
  }
}

/**
 * Starts a process as leader of a session and group of its own. Resolves once it runs; rejects with a `StartError` if
 * it cannot.
 */
export async function launch(spec: ProcessSpec, stdio: StdioOptions): Promise<ChildProcess> {
  const [command = '', ...args] = spec.command;
  const { namespace, cgroup, privileges = [], cwd, user } = spec;
  const seen = namespace?.seen(cwd) ?? cwd;
  // The system has the same error for a missing folder and a missing program.
  if (!isDirectory(seen)) throw new StartError(128, `working directory ${cwd} does not exist`);
  const before = [...(namespace?.entering(cwd, user) ?? []), ...privileges];
  if (before.length > 0 || cgroup) checkProgram(command, spec);
  const words = [...before, command, ...args];
  const place = namespace ? { env: spec.env, cwd: '/' } : spec;
  const child = cgroup ? startHeld(words, place, stdio, cgroup) : start(words, place, stdio);
  if (child.pid !== undefined) return child;
  const error = await new Promise<Error>((resolve) => child.once('error', resolve));
  throw startError(command, error);
}

type Place = Pick<ProcessSpec, 'cwd' | 'env' | 'user'>;

function start(words: readonly string[], { cwd, env, user }: Place, stdio: StdioOptions): ChildProcess {
  const [command = '', ...args] = words;
  try {
    return spawn(command, args, { cwd, env, ...user, stdio, detached: true });
  } catch (error) {
    throw startError(command, error);
  }
}

/** In the cgroup before its first instruction. */
function startHeld(
  command: readonly string[],
  place: Place,
  stdio: StdioOptions,
  cgroup: Pick<ContainerCgroup, 'join'>,
): ChildProcess {
  const { script, env } = heldScript({ command, env: place.env, byArguments: true });
  const streams = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
  const child = start(['/bin/sh', '-c', script, 'sh', ...command], { ...place, env }, [...streams, 'pipe']);
  const hold = child.stdio[HOLD_FD] as Duplex | undefined;
  hold?.on('error', () => undefined);
  if (child.pid === undefined || !hold) return child;
  try {
    cgroup.join(child.pid);
  } catch (error) {
    child.kill('SIGKILL');
    throw new StartError(128, errorMessage(error), error);
  }
  letGo(hold);
  return child;
}

/**
 * Before another program starts it: an error of that one would look like one of the program. Throws a StartError if there
 * is no such program.
 */
export function checkProgram(command: string, { env, cwd, namespace }: ProcessSpec): void {
  const seen = (path: string) => namespace?.seen(path) ?? path;
  const file = findProgram(command, env.PATH ?? '', cwd, seen);
  if (file === undefined) throw startError(command, { code: 'ENOENT' });
  if (!isExecutable(seen(resolve(cwd, file)))) throw startError(command, { code: 'EACCES' });
}

function startError(command: string, error: unknown): StartError {
  switch (errnoCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new StartError(
        127,
        `command "${command}" (or the interpreter that it names) was not found, ` +
          'neither as a file of this machine nor in the PATH of the container',
        error,
      );
    case 'EACCES':
    case 'ENOEXEC':
      return new StartError(126, `command "${command}" is not an executable file`, error);
    case 'E2BIG':
      return new StartError(
        128,
        `command "${command}" could not be started: its command and environment variables have more bytes than the system takes`,
        error,
      );
    default:
      return new StartError(128, `command "${command}" could not be started: ${errorMessage(error)}`, error);
  }
}

/** The exit code by a child's `exit` event: 128 plus the signal's number if a signal has ended it. */
export function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : osConstants.signals[signal]);
}

/** Whether its `exit` event has been delivered already. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The user to run as; undefined: the monitor's own. Throws a StateletError if only root could change to it. */
export function userOf(config: ContainerConfig): ProcessSpec['user'] {
  const { runAsUser, runAsGroup } = config.linux?.securityContext ?? {};
  const [ownUid, ownGid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const uid = runAsUser ?? ownUid;
  const gid = runAsGroup ?? (uid === ownUid ? ownGid : primaryGroup(uid));
  if (uid === ownUid && gid === ownGid) return undefined;
  if (ownUid === 0) return { uid, gid };
  throw invalid(
    `container "${config.metadata.name}" is to run as user ${uid} and group ${gid}, but the embedded runtime runs as ` +
      `${ownUid}:${ownGid} and only root may change that: leave runAsUser and runAsGroup out, or run as root`,
  );
}

const PASSWD_BYTES_MAX = 16 * 1024 * 1024;

/** By /etc/passwd. A user that is not in it gets the group of the same number. */
function primaryGroup(uid: number): number {
  const passwd = existsSync('/etc/passwd')
    ? readPlainFile('/etc/passwd', PASSWD_BYTES_MAX, { followsLinks: true })
    : '';
  const entry = passwd.split('\n').find((line) => line.split(':')[2] === String(uid));
  return Number(entry?.split(':')[3] ?? uid);
}
