/** Splits the body of a watch into its lines, one event each. */
export class WatchLines {
  #parts: Buffer[] = [];

  /** The lines that are complete now. */
  *take(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, start);
      if (end === -1) break;
      this.#parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#parts).toString('utf8').trim();
      this.#parts = [];
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }

  /** Whether the body has ended within an event. */
  get isCut(): boolean {
    return this.#parts.some((part) => part.toString('utf8').trim() !== '');
  }
}
