import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, closeSync, constants, renameSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { makeFolderSync } from '../../system/make-folder.ts';
import { openPlainFile, readPlainFile } from '../../system/plain-file.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { DEFAULT_PATH } from '../containers/launch.ts';
import type { RuntimeLayout } from '../layout.ts';
import { PROGRAM_FLAGS, programFile } from '../../system/program-file.ts';

/** The descriptor on which the monitor says that it is ready: the first after the standard ones. */
const READY_FD = 3;
const START_TIMEOUT_MS = 15_000;
const MAX_LOG_BYTES = 1024 * 1024;

const ENTRY = programFile('monitor', import.meta.url);
const FLAGS = [
  // Little memory and few threads, because it stays for long.
  '--optimize-for-size',
  '--v8-pool-size=1',
  ...PROGRAM_FLAGS,
];

/** Makes the folder of the monitor, readable for its owner alone. */
export function makeRuntimeDir({ runtimeDir }: RuntimeLayout): void {
  try {
    makeFolderSync(runtimeDir, 0o700);
    // Only if needed: the file system may have become read-only while containers run.
    if ((statSync(runtimeDir).mode & 0o777) !== 0o700) chmodSync(runtimeDir, 0o700);
  } catch (error) {
    const remedy = 'the root directory must belong to the user that runs statelet';
    throw new StateletError('Internal', `${runtimeDir} cannot be used: ${errorMessage(error)}; ${remedy}`, {
      cause: error,
    });
  }
}

/** Starts a monitor. Resolves when one can be connected to: this one, or another one that was started first. */
export async function spawnMonitor(layout: RuntimeLayout): Promise<void> {
  const logFd = openLog(layout.monitorLog);
  const output = logFd ?? 'ignore';
  try {
    // Of the daemon's environment the monitor gets PATH only; nothing of its working directory and terminal.
    const child = spawn(process.execPath, [...FLAGS, ENTRY, layout.rootDir, String(READY_FD)], {
      cwd: '/',
      env: { PATH: process.env.PATH ?? DEFAULT_PATH },
      detached: true,
      stdio: ['ignore', output, output, 'pipe'],
    });
    child.unref();
    await ready(child, layout.monitorLog);
  } finally {
    if (logFd !== undefined) closeSync(logFd);
  }
}

async function ready(child: ChildProcess, log: string): Promise<void> {
  const pipe = child.stdio[READY_FD] as Readable;
  const problem = await new Promise<string>((resolve) => {
    const timer = setTimeout(() => resolve('it did not get ready in time'), START_TIMEOUT_MS);
    child.once('error', (error) => resolve(error.message));
    pipe.once('data', () => resolve(''));
    pipe.on('error', () => undefined);
    pipe.once('close', () => resolve(`it ended at once: ${lastLines(log)}`));
    pipe.once('close', () => clearTimeout(timer));
  }).finally(() => pipe.destroy());
  if (problem !== '')
    throw new StateletError('Unavailable', `the monitor could not be started (see ${log}): ${problem}`);
}

/** Starts a new file when the log is too large. Undefined if it cannot be written: the monitor is started all the same. */
function openLog(path: string): number | undefined {
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_LOG_BYTES) renameSync(path, `${path}.1`);
    const { O_WRONLY, O_APPEND, O_CREAT } = constants;
    return openPlainFile(path, O_WRONLY | O_APPEND | O_CREAT);
  } catch {
    return undefined;
  }
}

function lastLines(log: string): string {
  try {
    return readPlainFile(log, 2 * MAX_LOG_BYTES)
      .trimEnd()
      .split('\n')
      .slice(-3)
      .join(' | ');
  } catch (error) {
    return errorMessage(error);
  }
}
