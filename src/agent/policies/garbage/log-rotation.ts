/** Rotation of a container's log: names such as `0.log.20300101-120000`, compressed with `.gz`, and which are removed. */
import { rfc3339 } from '../formats/time.ts';

const COMPRESSED = '.gz';
const TEMPORARY = '.tmp';
const SECOND_MS = 1000;
const ROTATED = /^\.\d{8}-\d{6}(?:\.gz)?(?:\.tmp)?$/;

export interface RotationPlan {
  /** What a crash has left, and logs beyond the number that is kept after this rotation. Oldest first. */
  readonly remove: readonly string[];
  readonly compress: readonly string[];
  /** The new name of the present log. */
  readonly rotated: string;
}

/**
 * `names`: the files in the log's folder. `maxFiles` counts the log itself too. The log that is rotated now is not compressed
 * yet, because readers may still read it and the runtime may still write into it. Times are UTC, so that names sort by age
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

/** The `names` that are rotated logs of `log`, including temporary files of a compression. */
export function rotatedLogs(log: string, names: readonly string[]): string[] {
  return names.filter((name) => name.startsWith(log) && ROTATED.test(name.slice(log.length)));
}

/** Among `names`, the log that was rotated last, if it can still be read as text. */
export function lastRotatedLog(log: string, names: readonly string[]): string | undefined {
  const isText = (name: string): boolean => !name.endsWith(COMPRESSED) && !name.endsWith(TEMPORARY);
  return rotatedLogs(log, names).filter(isText).sort().at(-1);
}

/** Whether a file of that name is the log, or a rotated log, of a container's instance. */
export function isContainerLog(name: string): boolean {
  const log = /^\d+\.log/.exec(name)?.[0];
  return log !== undefined && (name === log || rotatedLogs(log, [name]).length > 0);
}

/**
 * How many instances of a container there have been, by the names in the folder of its logs. If the runtime has forgotten
 * them, this keeps a new instance from writing into the log of an earlier one.
 */
export function instancesByLogs(names: readonly string[]): number {
  const attempts = names.map((name) => /^(\d+)\.log(?:\.|$)/.exec(name)?.[1]);
  return Math.max(0, ...attempts.map((attempt) => (attempt === undefined ? 0 : Number(attempt) + 1)));
}

/** The names of a rotated log while it is compressed, and afterwards. */
export function compressedLogNames(rotated: string): { readonly temporary: string; readonly final: string } {
  return { temporary: rotated + TEMPORARY, final: rotated + COMPRESSED };
}

/** Two rotations in the same second must get different names. */
function freeName(log: string, present: ReadonlySet<string>, nowMs: number): string {
  const stamp = rfc3339(nowMs).replace(/[-:Z]/g, '').replace('T', '-');
  const name = `${log}.${stamp}`;
  const isTaken = present.has(name) || present.has(name + COMPRESSED);
  return isTaken ? freeName(log, present, nowMs + SECOND_MS) : name;
}

// The links by which log collectors find containers' logs: `/var/log/containers/<pod>_<namespace>_<container>-<id>.log`.

const SUFFIX = '.log';

const FILE_NAME_MAX_LENGTH = 255;

/** The link's name in its folder; as with the kubelet, cut to the longest file name. */
export function containerLogLink(
  pod: { readonly name: string; readonly namespace: string },
  containerName: string,
  containerId: string,
): string {
  const name = `${pod.name}_${pod.namespace}_${containerName}-${containerId}`;
  return name.slice(0, FILE_NAME_MAX_LENGTH - SUFFIX.length) + SUFFIX;
}

/** Undefined for a name that is no such link. If the name was cut, this is the beginning of the id. */
export function containerIdOfLogLink(name: string): string | undefined {
  return /^[^_]+_[^_]+_.+-([^-]+)\.log$/.exec(name)?.[1];
}
