/** The file `memory_manager_state`, which a former agent may have left. */
import { join } from 'node:path';
import {
  type MemoryState,
  memoryStateText,
  readMemoryState,
} from '../../policies/memory-manager/memory-state.ts';
import { StateFile } from '../topology/state-file.ts';

export function memoryStateFile(rootDir: string): StateFile<MemoryState> {
  const path = join(rootDir, 'memory_manager_state');
  return new StateFile({ path, manager: 'memory manager', read: readMemoryState, text: memoryStateText });
}
