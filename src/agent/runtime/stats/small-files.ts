/**
 * Files that the kernel makes when they are read: of cgroups and /proc. They are read synchronously into one buffer, which
 * costs half of what `readFileSync` does; for a file that stays open, a fifth.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { PSIData, PSIStats } from '../../../types/stats.ts';

/** Larger than any file that is read with one call. */
const buffer = Buffer.allocUnsafeSlow(16_384);

/** Undefined if it cannot be read: the group is gone, or the kernel has no such file. */
export function readSmallFile(path: string): string | undefined {
  return readBy(readAll, path);
}

/** The same for a file of many records: one read gives at most a page of it. */
export function readLongFile(path: string): string | undefined {
  return readBy(readPieces, path);
}

/** A file that is read often and stays open in between. */
export class OpenFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  read(): string | undefined {
    try {
      this.#file ??= openSync(this.#path, 'r');
      return readAll(this.#file);
    } catch {
      // The group was removed and may have been made again.
      this.close();
      return undefined;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

function readBy(read: (file: number) => string, path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    return read(file);
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readAll(file: number): string {
  return buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0));
}

function readPieces(file: number): string {
  const pieces: string[] = [];
  for (let position = 0; ;) {
    const length = readSync(file, buffer, 0, buffer.length, position);
    if (length === 0) return pieces.join('');
    pieces.push(buffer.toString('latin1', 0, length));
    position += length;
  }
}

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
