/** Of the line feed. */
const NEWLINE = 0x0a;

/**
 * Finds where the last lines of a file begin. It is given the file's blocks from the last to the first. What follows the last newline is
 * no line of its own: the kubelet does not count it either.
 */
export class TailStart {
  /** Newlines that still have to be found. */
  #left: number;

  constructor(lines: number) {
    this.#left = lines + 1;
  }

  /** The offset in the block where the lines begin; undefined: in a block before it. */
  find(block: Uint8Array): number | undefined {
    for (let end = block.lastIndexOf(NEWLINE); end >= 0; end = block.lastIndexOf(NEWLINE, end - 1)) {
      this.#left -= 1;
      if (this.#left <= 0) return end + 1;
      // A negative offset would count from the end of the block.
      if (end === 0) break;
    }
    return undefined;
  }
}
