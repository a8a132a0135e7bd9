/** The file `cpu_manager_state`, which a former agent may have left. */
import { join } from 'node:path';
import { type CpuState, cpuStateText, readCpuState } from '../../policies/cpus/cpu-state.ts';
import { StateFile } from '../topology/state-file.ts';

export function cpuStateFile(rootDir: string): StateFile<CpuState> {
  const path = join(rootDir, 'cpu_manager_state');
  return new StateFile({ path, manager: 'CPU manager', read: readCpuState, text: cpuStateText });
}
