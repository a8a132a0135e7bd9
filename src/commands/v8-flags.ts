/** How V8 runs a process that works in short bursts, such as the start of pods, and is idle otherwise. */
import { setFlagsFromString } from 'node:v8';

/**
 * By default, V8 lets a burst of work (a hundred pods that start at once) grow the heap by 30 MB, and keeps it. `--optimize-for-size`
 * would save 8 MB more, but compacts the heap with each collection and drops code that was just compiled: a sixth of the CPU time of
 * such a burst.
 */
const HEAP = ['--semi-space-growth-factor=1', '--heap-growing-percent=70'];

/**
 * After so many calls V8 compiles a function anew, to faster code: ten times its defaults. By these, thirty pods that start and end
 * make it compile nine hundred functions, which costs more than it saves; now 160. What stays busy is still compiled.
 */
const TIERS = ['--invocation-count-for-maglev=4000', '--invocation-count-for-turbofan=30000'];

/** Each can be set while the process runs. V8 would print an error for one that it does not know. */
export const V8_FLAGS: readonly string[] = [...HEAP, ...TIERS];

export function setV8Flags(): void {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
}
