/** The file `cpu_manager_state`, which a former agent may have left. */
import { type CpuState, cpuStateText, readCpuState } from '../../policies/cpus/cpu-state.ts';
import type { StoredText } from '../../../system/newest-file.ts';
import { StateFile } from '../node/state-file.ts';

export const CPU_STATE_FILE = 'cpu_manager_state';

export function cpuStateFile(file: StoredText, policy: 'none' | 'static'): StateFile<CpuState> {
  return new StateFile(file, {
    manager: 'CPU manager',
    read: (text) => readCpuState(text, policy),
    text: (state) => cpuStateText(policy, state),
  });
}
