import { readdirSync, readFileSync } from 'node:fs';

/** One process, of /proc/<pid>/stat. A tick is a hundredth of a second on every Linux (USER_HZ). */
export interface ProcessStat {
  readonly pid: number;
  readonly state: string;
  readonly groupId: number;
  readonly sessionId: number;
  /** The device number of its terminal; 0: none. */
  readonly terminal: number;
  /** User and system time, including that of children that have ended and were waited for. */
  readonly cpuTicks: number;
  /** Since boot. Together with pid and boot it identifies a process for ever. */
  readonly startTicks: number;
}

/** Tells a process from a later one that got the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: number;
}

/** Every process of a container has this variable: it finds the processes that left the container's session. */
export const CONTAINER_ID_VARIABLE = 'STATELET_CONTAINER_ID';

export function parseStat(text: string): ProcessStat {
  // The second field is the program's name in parentheses, which may contain blanks and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid: Number.parseInt(text, 10),
    state: fields[0] ?? 'X',
    groupId: field(5),
    sessionId: field(6),
    terminal: field(7),
    cpuTicks: field(14) + field(15) + field(16) + field(17),
    startTicks: field(22),
  };
}

export function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** A zombie has ended: only its entry is left, until its parent reads its exit code. */
export function runs(stat: ProcessStat): boolean {
  return stat.state !== 'Z' && stat.state !== 'X';
}

export function isRunning({ pid, startTicks }: ProcessIdentity): boolean {
  const stat = readStat(pid);
  return stat?.startTicks === startTicks && runs(stat);
}

/** All processes that run. */
export function processTable(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat !== undefined && runs(stat)) as ProcessStat[];
}

/** The container that a process belongs to, by its environment; undefined if it cannot be read. */
export function containerOf(pid: number): string | undefined {
  return containerIn(environOf(pid));
}

/** The environment that the process was started with, as the kernel has it; undefined if it cannot be read. */
export function environOf(pid: number): string | undefined {
  return readProc(`${pid}/environ`);
}

export function containerIn(environ = ''): string | undefined {
  const prefix = `${CONTAINER_ID_VARIABLE}=`;
  const entry = environ.split('\0').find((text) => text.startsWith(prefix));
  return entry?.slice(prefix.length);
}

/** The memory of a process in RAM, including pages that it shares with others. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s*(\d+) kB/m.exec(readProc(`${pid}/status`) ?? '')?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** When a process started, in Unix milliseconds. */
export function startedAtMs(startTicks: number): number {
  const uptimeMs = Number.parseFloat(readProc('uptime') ?? '') * 1000;
  return Date.now() - Math.max(0, uptimeMs - startTicks * 10);
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return undefined;
  }
}
