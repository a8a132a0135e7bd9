import { tooLarge } from './read-answer.ts';

/** Many times the largest object that an API server takes. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** Splits the body of a watch into its lines, one event each. */
export class WatchLines {
  #parts: Buffer[] = [];
  /** Of the parts. */
  #bytes = 0;

  /** The lines that are complete now. Throws where one is too long. */
  *take(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, start);
      if (end === -1) break;
      this.#bytes = 0;
      this.#parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#parts).toString('utf8').trim();
      this.#parts = [];
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start >= chunk.length) return;
    this.#parts.push(chunk.subarray(start));
    this.#bytes += chunk.length - start;
    if (this.#bytes > LINE_BYTES_MAX) throw tooLarge('an event of the watch', LINE_BYTES_MAX);
  }

  /** Whether the body has ended within an event. */
  get isCut(): boolean {
    return this.#parts.some((part) => part.toString('utf8').trim() !== '');
  }
}
