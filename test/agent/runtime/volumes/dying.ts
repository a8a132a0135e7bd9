/** Runs work on volumes in a process that is killed at one of its steps. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundled } from '../../../../scripts/jest/bundled.ts';
import type { VolumeTask } from './volume-process.ts';

const HOOK = pathToFileURL(bundled(new URL('../../../support/die-at-step.ts', import.meta.url))).href;
const SCRIPT = bundled(new URL('./volume-process.ts', import.meta.url));

function runTask(task: VolumeTask, env: Readonly<Record<string, string>>) {
  const flags = ['--import', HOOK, SCRIPT];
  const own = { PATH: process.env.PATH, VOLUME_TASK: JSON.stringify(task), ...env };
  return spawnSync(process.execPath, flags, { env: own, encoding: 'utf8' });
}

/** Runs the task to its end, and resolves to its steps on files below the folder. */
export function stepsOf(task: VolumeTask, below: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'statelet-steps-'));
  const record = join(folder, 'steps');
  try {
    writeFileSync(record, '');
    const { status, stderr } = runTask(task, { DIE_BELOW: below, DIE_STEPS: record });
    if (status !== 0) throw new Error(`the task failed: ${stderr}`);
    return readFileSync(record, 'utf8').trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the task until its process is killed at the step, counted from 1. Returns whether it was: the task may have fewer steps. */
export function dieAt(step: number, task: VolumeTask, below: string): boolean {
  const { status, signal, stderr } = runTask(task, { DIE_BELOW: below, DIE_AT: String(step) });
  if (signal === 'SIGKILL') return true;
  if (status !== 0) throw new Error(`the task failed before step ${step}: ${stderr}`);
  return false;
}
