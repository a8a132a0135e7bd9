/** Files of cgroups that stay open between scrapes: to open and close a file takes twice as long as to read it. */
import { OpenFile, readSmallFile } from '../small-files.ts';

/** A quarter of the descriptors that the process may have. */
const SHARE = 4;
const OPEN_MAX = 4096;

/** How many files may stay open. */
export function openFilesMax(descriptorsMax: number | undefined): number {
  return Math.min(OPEN_MAX, Math.trunc((descriptorsMax ?? 0) / SHARE));
}

/** The soft limit of descriptors of this process. */
export function descriptorsMax(): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(readSmallFile('/proc/self/limits') ?? '')?.[1];
  return soft === undefined ? undefined : Number(soft);
}

export class OpenFiles {
  readonly #max: number;
  readonly #files = new Map<string, OpenFile>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#files.size;
  }

  /** The file stays open if there are not too many. Undefined if it cannot be read. */
  read(path: string): string | undefined {
    const known = this.#files.get(path);
    if (known === undefined && this.#files.size >= this.#max) return readSmallFile(path);
    const file = known ?? new OpenFile(path);
    const text = file.read();
    if (text === undefined) this.#files.delete(path);
    else this.#files.set(path, file);
    return text;
  }

  /** Closes the files; they may be read again. */
  close(paths: Iterable<string> = [...this.#files.keys()]): void {
    for (const path of paths) {
      this.#files.get(path)?.close();
      this.#files.delete(path);
    }
  }
}
