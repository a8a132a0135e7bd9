/** The file `memory_manager_state`, which a former agent may have left. */
import {
  type MemoryState,
  memoryStateText,
  readMemoryState,
} from '../../policies/memory-manager/memory-state.ts';
import type { StoredText } from '../../../system/newest-file.ts';
import { StateFile } from '../node/state-file.ts';

export const MEMORY_STATE_FILE = 'memory_manager_state';

export function memoryStateFile(file: StoredText, policy: 'None' | 'Static'): StateFile<MemoryState> {
  return new StateFile(file, {
    manager: 'memory manager',
    read: (text) => readMemoryState(text, policy),
    text: (state) => memoryStateText(policy, state),
  });
}
