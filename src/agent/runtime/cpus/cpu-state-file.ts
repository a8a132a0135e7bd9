/** The file `cpu_manager_state`, which a former agent may have left. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CpuState, readCpuState } from '../../policies/cpus/cpu-state.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';

export function cpuStatePath(rootDir: string): string {
  return join(rootDir, 'cpu_manager_state');
}

/**
 * Undefined where there is no file. Rejects as FailedPrecondition where it cannot be gone on with. It is of another policy: containers would
 * keep CPUs that others use.
 */
export async function readCpuStateFile(rootDir: string, policy: string): Promise<CpuState | undefined> {
  const path = cpuStatePath(rootDir);
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return readCpuState(text, policy);
  } catch (error) {
    throw unusableCpuState(path, errorMessage(error));
  }
}

export function unusableCpuState(path: string, problem: string): StateletError {
  const what = `could not restore state from checkpoint: ${problem}`;
  const advice = `please drain this node and delete the CPU manager checkpoint file "${path}" before the next start`;
  return new StateletError('FailedPrecondition', `${what}, ${advice}`);
}
