/** Names of a container's rotated logs, and what becomes of them: `0.log.20300101-120000`, older ones with `.gz`. */
import { rfc3339 } from '../formats/time.ts';

const COMPRESSED = '.gz';
const TEMPORARY = '.tmp';
const SECOND_MS = 1000;
const ROTATED = /^\.\d{8}-\d{6}(?:\.gz)?(?:\.tmp)?$/;

export interface RotationPlan {
  /** Left by a crash, or more than may be kept once the log has been rotated. Oldest first. */
  readonly remove: readonly string[];
  readonly compress: readonly string[];
  /** What the log is called from now on. */
  readonly rotated: string;
}

/**
 * `names`: what is in the log's folder. `maxFiles` counts the log itself. The newest rotated one stays as it is: whoever
 * reads the log may not be through with it, and the runtime may still be writing. Times are UTC, so that names sort by age
 * also when summer time ends.
 */
export function planRotation(
  log: string,
  names: readonly string[],
  maxFiles: number,
  nowMs: number,
): RotationPlan {
  const all = rotatedLogs(log, names);
  const present = new Set(all);
  const isLeftover = (name: string): boolean => name.endsWith(TEMPORARY) || present.has(name + COMPRESSED);
  const inUse = all.filter((name) => !isLeftover(name)).sort();
  const excess = Math.max(0, inUse.length - Math.max(0, maxFiles - 2));
  return {
    remove: [...all.filter(isLeftover), ...inUse.slice(0, excess)],
    compress: inUse.slice(excess).filter((name) => !name.endsWith(COMPRESSED)),
    rotated: freeName(log, present, nowMs),
  };
}

/** Those of `names` that are rotated logs of `log`, temporary files of a compression included. */
export function rotatedLogs(log: string, names: readonly string[]): string[] {
  return names.filter((name) => name.startsWith(log) && ROTATED.test(name.slice(log.length)));
}

/** Whether a file of that name is the log of a container's instance, or one that it was rotated into. */
export function isContainerLog(name: string): boolean {
  const log = /^\d+\.log/.exec(name)?.[0];
  return log !== undefined && (name === log || rotatedLogs(log, [name]).length > 0);
}

/**
 * How many instances of a container there have been, by the names in the folder of its logs: what counts where the runtime
 * has forgotten them, so that a new one does not write into the log of another.
 */
export function instancesByLogs(names: readonly string[]): number {
  const attempts = names.map((name) => /^(\d+)\.log(?:\.|$)/.exec(name)?.[1]);
  return Math.max(0, ...attempts.map((attempt) => (attempt === undefined ? 0 : Number(attempt) + 1)));
}

/** What a rotated log is called while it is compressed, and afterwards. */
export function compressedLogNames(rotated: string): { readonly temporary: string; readonly final: string } {
  return { temporary: rotated + TEMPORARY, final: rotated + COMPRESSED };
}

/** Two rotations in one second must not become one file. */
function freeName(log: string, present: ReadonlySet<string>, nowMs: number): string {
  const stamp = rfc3339(nowMs).replace(/[-:Z]/g, '').replace('T', '-');
  const name = `${log}.${stamp}`;
  const isTaken = present.has(name) || present.has(name + COMPRESSED);
  return isTaken ? freeName(log, present, nowMs + SECOND_MS) : name;
}
