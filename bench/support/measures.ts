/** Measurements of processes, and their summaries. */
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** The user and system time of the process so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The same without the rounding to ticks, of the threads that there are. `isCounted`: by the thread's name. */
export function fineCpuMs(pid: number, isCounted: (thread: string) => boolean = () => true): number {
  const tasks = `/proc/${pid}/task`;
  const counted = readdirSync(tasks).filter((id) =>
    isCounted(readFileSync(`${tasks}/${id}/comm`, 'latin1').trim()),
  );
  const ns = counted.map((id) => Number(readFileSync(`${tasks}/${id}/schedstat`, 'latin1').split(' ')[0]));
  return ns.reduce((sum, one) => sum + one, 0) / 1e6;
}

export interface ProcessMemory {
  /** All of it: pages of files too, which the kernel can drop and read again, as those of the program. */
  readonly residentMiB: number;
  /** Memory that the machine cannot take back from the process. */
  readonly anonymousMiB: number;
}

export function memoryOf(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'mu').exec(status)?.[1]) / 1024;
  return { residentMiB: mib('VmRSS'), anonymousMiB: mib('RssAnon') };
}

export function timeMs(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** The median duration of so many runs. */
export function medianMs(times: number, work: () => unknown): number {
  return median(Array.from({ length: times }, () => timeMs(work)));
}

/** Unix milliseconds, with the fractions that `Date.now` leaves out. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
