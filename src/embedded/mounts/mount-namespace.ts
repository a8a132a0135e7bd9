/**
 * Mount namespaces of containers. util-linux makes them and starts programs in them: Node has no calls for that. Without root each has
 * a user namespace around it, in which the agent's user keeps its number and may mount.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, lstatSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseMountInfo } from '../../agent/policies/formats/mountinfo.ts';
import { namesOf } from '../../agent/policies/volumes/projected-files.ts';
import { O_PATH, type Opened, placeOf } from '../../system/files/open-place.ts';
import { BoundedOutput, CommandError, runCommand } from '../../system/run-command.ts';
import { errnoCode } from '../../system/system-errors.ts';
import type { Mount } from '../../types/cri.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { findProgram, type User } from '../containers/privileges.ts';
import { mountSteps } from './mount-plan.ts';
import { MOUNT_SCRIPT, wordsOf } from './mount-script.ts';

/** Programs of the system administrator, which another user may not have in its PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'];
const PROBE_MS = 10_000;
const MAKE_MS = 60_000;
const ENTER_MS = 4_000;
const LINKS_MAX = 40;

const isRoot = (): boolean => process.getuid?.() === 0;

function searchPath(): string {
  return [process.env.PATH ?? '', ...SYSTEM_FOLDERS].filter((folder) => folder !== '').join(delimiter);
}

function program(name: string): string {
  const found = findProgram(name, searchPath(), '/');
  if (found !== undefined) return found;
  throw new StateletError('FailedPrecondition', `${name} is not in its PATH: install util-linux`);
}

/** The command that starts another one in a namespace of its own, in which it may mount. What the machine mounts later appears there, too. */
function unsharing(): readonly string[] {
  const users = isRoot() ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return [program('unshare'), ...users, '--mount', '--propagation', 'slave', '--'];
}

/** Why no mount namespace can be made here; undefined where it can. */
export async function mountProblem(): Promise<string | undefined> {
  try {
    const [unshare = '', ...words] = unsharing();
    program('nsenter');
    // Some systems let a user make the namespace and then do nothing in it.
    const mount = [program('mount'), '--no-canonicalize', '-t', 'tmpfs', 'statelet', '/'];
    await runCommand(unshare, [...words, ...mount], { timeoutMs: PROBE_MS });
    return undefined;
  } catch (error) {
    return error instanceof CommandError && error.isTimeout
      ? `unshare did not return within ${PROBE_MS / 1000} s`
      : errorMessage(error);
  }
}

interface Held {
  readonly mounts: Opened;
  readonly root: Opened;
  readonly users: Opened | undefined;
}

/** The mount namespace of one container, which this process holds open. */
export class MountNamespace {
  readonly #held: Held;

  private constructor(held: Held) {
    this.#held = held;
  }

  /** `staging`: an empty folder for the time of the call. Rejects with a StateletError where a mount fails. */
  static async make(mounts: readonly Mount[], staging: string): Promise<MountNamespace> {
    const steps = mountSteps(mounts, parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')));
    const [unshare = '', ...words] = unsharing();
    const maker = spawn(
      unshare,
      [...words, '/bin/sh', '-c', MOUNT_SCRIPT, 'sh', staging, ...wordsOf(steps)],
      {
        cwd: '/',
        env: { PATH: searchPath(), LC_ALL: 'C' },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    try {
      await whenMade(maker);
      return MountNamespace.of(maker.pid ?? 0);
    } finally {
      // The namespace stays as long as it is held open.
      maker.kill('SIGKILL');
    }
  }

  /** That of a process. Throws the system's error where it has ended. */
  static of(pid: number): MountNamespace {
    const opened: Opened[] = [];
    const open = (name: string, flags: number): Opened => {
      const place = { fd: openSync(`/proc/${pid}/${name}`, flags) };
      opened.push(place);
      return place;
    };
    try {
      const { O_RDONLY, O_DIRECTORY } = constants;
      return new MountNamespace({
        mounts: open('ns/mnt', O_RDONLY),
        root: open('root', O_PATH | O_DIRECTORY),
        users: isRoot() ? undefined : open('ns/user', O_RDONLY),
      });
    } catch (error) {
      for (const { fd } of opened) closeSync(fd);
      throw error;
    }
  }

  /** The command that starts another one in the namespace, in a folder of it, as this user; without one as the agent's. */
  entering(folder: string, user: User | undefined): readonly string[] {
    const { mounts, users } = this.#held;
    const words = [program('nsenter'), `--mount=${placeOf(mounts)}`, `--wd=${this.seen(folder)}`];
    if (users !== undefined) return [...words, `--user=${placeOf(users)}`, '--preserve-credentials', '--'];
    return [...words, ...(user ? [`--setuid=${user.uid}`, `--setgid=${user.gid}`] : []), '--'];
  }

  /** Resolves once the process, which was started to enter, has done so, or has ended: until then it needs this process. */
  async entered(pid: number): Promise<void> {
    const own = readlinkSync(placeOf(this.#held.mounts));
    for (let waitMs = 1; waitMs < ENTER_MS; waitMs *= 2) {
      const current = linkTarget(`/proc/${pid}/ns/mnt`);
      if (current === undefined || current === own) return;
      await delay(waitMs);
    }
  }

  /** A path to what the container sees at `path`, for this process and those that it starts. Links lead where they lead in the container. */
  seen(path: string): string {
    const root = placeOf(this.#held.root);
    let [names, place] = [namesOf(path), '/'];
    for (let links = 0; ;) {
      const [name, ...rest] = names;
      if (name === undefined) return `${root}${place}`;
      names = rest;
      place = resolve(place, name);
      const target = linkTarget(`${root}${place}`);
      if (target === undefined) continue;
      if (++links > LINKS_MAX) return `${root}${place}`;
      names = [...namesOf(target), ...rest];
      place = target.startsWith('/') ? '/' : resolve(place, '..');
    }
  }

  close(): void {
    const { mounts, root, users } = this.#held;
    for (const place of [mounts, root, users]) if (place) closeSync(place.fd);
  }
}

/** Resolves once everything is mounted. The process then waits to be killed. */
async function whenMade(maker: ChildProcess): Promise<void> {
  const complaints = new BoundedOutput();
  maker.stderr?.on('data', (chunk: Buffer) => complaints.add(chunk));
  maker.stdin?.on('error', () => undefined);
  const timer = setTimeout(() => maker.kill('SIGKILL'), MAKE_MS);
  const problem = await new Promise<string | undefined>((done) => {
    maker.stdout?.once('data', () => done(undefined));
    maker.once('error', (error) => done(errorMessage(error)));
    maker.once('close', (code, signal) =>
      done(complaints.toString().trim() || `it ended with ${code ?? signal ?? ''}`),
    );
  }).finally(() => clearTimeout(timer));
  if (problem !== undefined)
    throw new StateletError('FailedPrecondition', `its volumes could not be mounted: ${problem}`);
}

/** Undefined for what is no link, or cannot be looked at. */
function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch (error) {
    if (errnoCode(error) === undefined) throw error;
    return undefined;
  }
}
