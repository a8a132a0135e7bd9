/** Shows the progress of a long operation on stderr. */

interface Stream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** On a terminal one line is rewritten; a log gets a new line at longer intervals. */
const TERMINAL_PERIOD_MS = 250;
const LOG_PERIOD_MS = 30_000;
const CLEAR_LINE = '\r\u001b[K';

export class Progress {
  readonly #stream: Stream;
  readonly #now: () => number;
  readonly #periodMs: number;
  #nextAt: number;
  #isShown = false;

  constructor(stream: Stream, now: () => number = Date.now) {
    this.#stream = stream;
    this.#now = now;
    this.#periodMs = stream.isTTY === true ? TERMINAL_PERIOD_MS : LOG_PERIOD_MS;
    this.#nextAt = now() + this.#periodMs;
  }

  /** May be called at any rate: `text` is called only when a line is due. */
  tell(text: () => string): void {
    const now = this.#now();
    if (now < this.#nextAt) return;
    this.#nextAt = now + this.#periodMs;
    this.#isShown = this.#stream.isTTY === true;
    this.#stream.write(this.#isShown ? `${CLEAR_LINE}${text()}` : `${text()}\n`);
  }

  /** Removes the line, before other text is printed. */
  clear(): void {
    if (this.#isShown) this.#stream.write(CLEAR_LINE);
    this.#isShown = false;
  }
}
