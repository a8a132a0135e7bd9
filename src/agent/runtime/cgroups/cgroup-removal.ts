import { existsSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StateletError } from '../../../types/errors.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { subfolders } from './cgroup-tree.ts';

const PAUSE_MAX_MS = 100;
/** Longer than a process with much memory takes to end. A process that waits for a dead disk may never end. */
const PATIENCE_MS = 10_000;

/**
 * Removes the cgroups of a pod with all cgroups below: folders in any number of hierarchies. Kills processes only where they keep a
 * cgroup from being removed. No event reports their end, so it tries again and again. Rejects as Internal when a cgroup stays.
 */
export async function removeCgroups(folders: readonly string[], patienceMs = PATIENCE_MS): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  let left = folders.filter((folder) => !removed(folder));
  for (let pauseMs = 1; left.length > 0; pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
    killAll(left);
    await delay(pauseMs);
    left = left.filter((folder) => !removed(folder));
    if (left.length > 0 && performance.now() > deadlineMs) throw stillThere(left);
  }
}

/**
 * Kills the processes in these cgroups and below. No event reports their end, so it looks again and again. Rejects as Internal when one
 * does not end.
 */
export async function endProcessesIn(folders: readonly string[], patienceMs = PATIENCE_MS): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  const occupied = () => folders.filter((folder) => pidsIn(folder).length > 0);
  let left = occupied();
  for (let pauseMs = 1; left.length > 0; pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
    if (performance.now() > deadlineMs) throw stillRunning(left);
    killAll(left);
    await delay(pauseMs);
    left = occupied();
  }
}

/** Removes these cgroups with all below, as far as no process is in them. Never throws. */
export function removeEmptyCgroups(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      removed(folder);
    } catch {
      // The cgroup stays, like one with processes in it.
    }
  }
}

/** Whether the folder is gone. */
function removed(folder: string): boolean {
  return tryRemove(folder) || (subfoldersOf(folder).every(removed) && tryRemove(folder));
}

function tryRemove(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT') return true;
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return false;
    throw error;
  }
}

/** Empty where a runtime has removed the cgroup meanwhile. */
function subfoldersOf(folder: string): string[] {
  try {
    return subfolders(folder).map((name) => join(folder, name));
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function killAll(folders: readonly string[]): void {
  const pids = new Set<number>();
  for (const folder of folders) if (!killedAtOnce(folder)) for (const pid of pidsIn(folder)) pids.add(pid);
  for (const pid of pids) kill(pid);
}

/** Since Linux 5.14 a cgroup of v2 can be killed with all cgroups below it, and no process escapes by forking. */
function killedAtOnce(folder: string): boolean {
  const file = join(folder, 'cgroup.kill');
  if (!existsSync(file)) return false;
  try {
    writeFileSync(file, '1');
    return true;
  } catch {
    return false;
  }
}

/** The processes here and below. 0 stands for a process of another PID namespace; signalling 0 would hit our own process group. */
export function pidsIn(folder: string): number[] {
  const own = readPids(join(folder, 'cgroup.procs')).filter((pid) => pid > 1 && pid !== process.pid);
  return [...own, ...subfoldersOf(folder).flatMap(pidsIn)];
}

function readPids(file: string): number[] {
  try {
    return readFileSync(file, 'latin1').split('\n').map(Number);
  } catch {
    // The cgroup was removed meanwhile, or is a threaded one, whose processes are listed in the cgroup above.
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended, or may not be killed: then the deadline reports it.
  }
}

function stillThere(folders: readonly string[]): StateletError {
  const message = `${folders.join(', ')} cannot be removed: there are processes in it that do not end (${pidsText(folders)})`;
  return new StateletError('Internal', message);
}

function stillRunning(folders: readonly string[]): StateletError {
  const message = `there are processes in ${folders.join(', ')} that do not end (${pidsText(folders)})`;
  return new StateletError('Internal', message);
}

function pidsText(folders: readonly string[]): string {
  return [...new Set(folders.flatMap(pidsIn))].join(', ') || 'none that can be seen';
}
