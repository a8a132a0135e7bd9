/**
 * Files that the kernel makes when they are read: of cgroups and /proc. They are read synchronously into one buffer, which
 * costs half of what `readFileSync` does; for a file that stays open, a fifth.
 */
import { closeSync, openSync, readSync } from 'node:fs';

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
export class HeldFile {
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
