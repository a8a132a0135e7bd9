import {
  judgeSystemMemory,
  NO_SYSTEM_PRESSURE,
  podsThatWaited,
  type SystemMemoryKept,
  systemMemoryVictims,
} from '../../policies/eviction-plugins/built-in/system-pressure.ts';
import { type BuiltIn, Unanswered } from './plugin-tools.ts';

/** Whether the whole machine is short of memory. */
export const systemMemory: BuiltIn<SystemMemoryKept> = {
  atFirst: NO_SYSTEM_PRESSURE,

  async threshold(asked, figures, kept) {
    const machine = await figures.machineMemory();
    if (machine === undefined)
      return new Unanswered('/proc/meminfo of this kernel does not say how much memory is free');
    // The figures of pods take far longer to read than those of the machine.
    const mayWait = (machine.psi?.some?.avg10 ?? 0) >= asked.settings.systemMemory.somePercent;
    const podsWaited = mayWait ? podsThatWaited(asked.pods, await figures.pods()) : undefined;
    return judgeSystemMemory({ machine, podsWaited }, asked, kept);
  },

  /** Goes by what the last `threshold` found. */
  async top(asked, figures, kept) {
    return kept.pressure && systemMemoryVictims(await figures.pods(), asked, kept);
  },
};
