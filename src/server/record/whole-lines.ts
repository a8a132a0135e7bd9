/** Reads whole lines of a file that may grow, chunk by chunk. */
import type { FileHandle } from 'node:fs/promises';

const LINE_BREAK = 10;
const NOTHING = Buffer.alloc(0);

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
