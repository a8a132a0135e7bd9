/** Runs work on volumes in a process that is killed at one of its steps. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundled } from '../../../../scripts/jest/bundled.ts';
import { processTable } from '../../../../src/embedded/containers/proc.ts';
import { waitFor } from '../../../support/wait-for.ts';
import type { VolumeTask } from './volume-task.ts';

const HOOK = pathToFileURL(bundled(new URL('../../../support/die-at-step.ts', import.meta.url))).href;
const PROGRAMS = {
  write: new URL('./write-process.ts', import.meta.url),
  mount: new URL('./mount-process.ts', import.meta.url),
  csi: new URL('./csi-process.ts', import.meta.url),
};

/** The program is bundled when the first task asks for it. */
function programOf(task: VolumeTask): string {
  if (task.task === 'write') return bundled(PROGRAMS.write);
  return bundled('csiSocket' in task ? PROGRAMS.csi : PROGRAMS.mount);
}

interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

function startTask(task: VolumeTask, env: Readonly<Record<string, string>> = {}): ChildProcess {
  const flags = ['--import', HOOK, programOf(task)];
  const own = { PATH: process.env.PATH, VOLUME_TASK: JSON.stringify(task), ...env };
  // A session of its own: what it has started is found by that.
  return spawn(process.execPath, flags, { env: own, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
}

/** A mount or umount that was under way when the process was killed has ended, too. */
async function end(child: ChildProcess): Promise<Ended> {
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  await waitFor(() => !isAtWork(child.pid ?? 0), { what: 'the commands of the process to end' });
  return { status, signal, stderr };
}

function isAtWork(session: number): boolean {
  try {
    process.kill(-session, 0);
  } catch {
    // Most have started nothing that is left: their group is gone.
    return false;
  }
  return processTable().some(({ sessionId }) => sessionId === session);
}

/** Runs the task to its end, and resolves to its steps on files below the folder. */
export async function stepsOf(task: VolumeTask, below: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'statelet-steps-'));
  const record = join(folder, 'steps');
  try {
    writeFileSync(record, '');
    const { status, stderr } = await end(startTask(task, { DIE_BELOW: below, DIE_STEPS: record }));
    if (status !== 0) throw new Error(`the task failed: ${stderr}`);
    return readFileSync(record, 'utf8').trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the task until its process is killed at the step, counted from 1. Returns whether it was: the task may have fewer steps. */
export async function dieAt(step: number, task: VolumeTask, below: string): Promise<boolean> {
  const env = { DIE_BELOW: below, DIE_AT: String(step) };
  const { status, signal, stderr } = await end(startTask(task, env));
  if (signal === 'SIGKILL') return true;
  if (status !== 0) throw new Error(`the task failed before step ${step}: ${stderr}`);
  return false;
}

/** Runs the task until its process is killed at the moment that the test chooses. */
export async function dieWhen(task: VolumeTask, moment: (kill: () => void) => void): Promise<void> {
  const child = startTask(task);
  moment(() => child.kill('SIGKILL'));
  const { signal, stderr } = await end(child);
  if (signal !== 'SIGKILL') throw new Error(`the task was not killed: ${stderr}`);
}
