/** Parsers of the kernel's files. */
import type { PSIData, PSIStats } from '../../types/stats.ts';

/** The content of a file with one number. `max`, and anything else that is no number, is undefined. */
export function numberIn(text: string | undefined): number | undefined {
  const value = Number.parseInt(text ?? '', 10);
  return Number.isNaN(value) ? undefined : value;
}

/** The value of a line `key value`, as in `memory.stat`; in `/proc/meminfo` the key ends with a colon. */
export function valueOf(text: string, key: string): number | undefined {
  const label = `${key} `;
  const before = text.startsWith(label) ? 0 : text.indexOf(`\n${label}`) + 1;
  if (before === 0 && !text.startsWith(label)) return undefined;
  const start = before + label.length;
  return numberIn(text.slice(start, start + 32));
}

/** A value of `/proc/meminfo`, in bytes. */
export function meminfoBytes(text: string, key: string): number {
  return (valueOf(text, `${key}:`) ?? 0) * 1024;
}

const NO_PRESSURE: PSIData = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

/** The content of a `*.pressure` file. Older kernels have no line `full` for the CPU. */
export function pressureIn(text: string | undefined): PSIStats | undefined {
  if (text === undefined || text === '') return undefined;
  const lines = new Map(text.split('\n').map((line) => [line.slice(0, 4), pressureOf(line)]));
  return { full: lines.get('full') ?? NO_PRESSURE, some: lines.get('some') ?? NO_PRESSURE };
}

function pressureOf(line: string): PSIData {
  const field = (name: string): number => Number(new RegExp(`${name}=([\\d.]+)`).exec(line)?.[1] ?? 0);
  return { total: field('total'), avg10: field('avg10'), avg60: field('avg60'), avg300: field('avg300') };
}

/** The bytes read and written, from an `io.stat` with a line for each device: `8:0 rbytes=4096 wbytes=0 rios=1 …`. */
export function ioStatBytes(text: string | undefined): number | undefined {
  return text === undefined ? undefined : sumOfMatches(text, /\b[rw]bytes=(\d+)/g);
}

/** The same from a `/proc/<pid>/io`. Undefined if the kernel does not count it, or does not show it. */
export function processIOBytes(text: string | undefined): number | undefined {
  return text === undefined ? undefined : sumOfMatches(text, /^(?:read|write)_bytes: (\d+)/gm);
}

function sumOfMatches(text: string, pattern: RegExp): number {
  return Array.from(text.matchAll(pattern), ([, value]) => Number(value)).reduce(
    (sum, value) => sum + value,
    0,
  );
}
