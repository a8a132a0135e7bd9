/** Reads the flight recorder's files, also while an agent writes them. */
import { type FileHandle, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type RecordEntry, RecordReader, type WantsActor } from './policies/record-reader.ts';
import { openForeignFile } from '../system/files/foreign-file.ts';
import { ifThere } from '../system/system-errors.ts';
import { segmentNames } from './segment-ring.ts';

const CHUNK_BYTES = 2 ** 20;

export interface RecordFilter {
  /** Transitions of other actors are left out. */
  readonly wants?: WantsActor;
  /** Files that were last written before are not read. */
  readonly sinceMs?: number;
}

export class RecordFiles {
  readonly #path: string;
  readonly #reader: RecordReader;
  readonly #sinceMs: number;
  /** The file that is being read, and its lines behind those that have been. */
  #file = '';
  #lines = new WholeLines(CHUNK_BYTES);

  /** `path`: of a folder, or of one file. */
  constructor(path: string, { wants, sinceMs = 0 }: RecordFilter = {}) {
    this.#path = path;
    this.#sinceMs = sinceMs;
    this.#reader = new RecordReader(wants);
  }

  /** What has been written since the last time. Rejects with the system's error where the path cannot be read. */
  async *read(): AsyncGenerator<RecordEntry, undefined> {
    const files = await this.#files();
    for (const file of files.slice(Math.max(0, files.indexOf(this.#file)))) {
      if (file !== this.#file) {
        this.#file = file;
        this.#lines = new WholeLines(CHUNK_BYTES);
      }
      yield* this.#readFile(file);
    }
  }

  async #files(): Promise<readonly string[]> {
    if (!(await stat(this.#path)).isDirectory()) return [this.#path];
    return (await segmentNames(this.#path)).map((name) => join(this.#path, name));
  }

  async *#readFile(path: string): AsyncGenerator<RecordEntry, undefined> {
    // The oldest file may be deleted meanwhile.
    const file = await ifThere(openForeignFile(path, { waitsForPipe: true }));
    if (file === undefined) return;
    try {
      if ((await file.stat()).mtimeMs < this.#sinceMs) return;
      for await (const text of this.#lines.read(file)) {
        for (const line of text.split('\n')) {
          const entry = this.#reader.read(line);
          if (entry !== undefined) yield entry;
        }
      }
    } finally {
      await file.close();
    }
  }
}

const LINE_BREAK = 10;

const NOTHING = Buffer.alloc(0);

/** Reads whole lines of a file that may grow, chunk by chunk. */
export class WholeLines {
  readonly #chunkBytes: number;
  #offset = 0;
  /** The beginning of a line whose end is not written yet. */
  #rest: Buffer = NOTHING;

  /** `chunkBytes`: how much is read at a time. */
  constructor(chunkBytes: number) {
    this.#chunkBytes = chunkBytes;
  }

  /**
   * Those behind what was read before, with their line breaks. A last line that has no end waits for the next call. A pipe is read to its
   * end.
   */
  async *read(file: FileHandle): AsyncGenerator<string, undefined> {
    const chunk = Buffer.allocUnsafe(this.#chunkBytes);
    const isPipe = (await file.stat()).isFIFO();
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, isPipe ? null : this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      // A copy: the chunk is written to again.
      const bytes = Buffer.concat([this.#rest, chunk.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(LINE_BREAK) + 1;
      this.#rest = bytes.subarray(end);
      yield bytes.toString('utf8', 0, end);
    }
  }
}
