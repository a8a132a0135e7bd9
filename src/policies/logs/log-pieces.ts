import { NEWLINE } from './log-message.ts';

/** A line of a log. One that is too long to be kept whole comes in several pieces. */
export interface LogPiece {
  /** One character per byte; with the newline where the line ends with one. */
  readonly text: string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Runtimes cut lines at 16 KiB. */
const WHOLE_LINE_BYTES_MAX = 1024 * 1024;

/** Splits a log into lines, in bounded memory. */
export class LogPieces {
  readonly #maxLength: number;
  /** The beginning of the line whose end has not been read. */
  #rest = '';
  /** A piece of that line has been handed out. */
  #isInLine = false;

  constructor(maxLength = WHOLE_LINE_BYTES_MAX) {
    this.#maxLength = maxLength;
  }

  /** `chunk`: one character per byte. */
  *push(chunk: string): Generator<LogPiece> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.slice(from, end + 1);
      from = end + 1;
      yield this.#piece(part, true);
    }
    const rest = chunk.slice(from);
    if (rest === '') return;
    if (this.#isInLine || this.#rest.length + rest.length > this.#maxLength) yield this.#piece(rest, false);
    else this.#rest += rest;
  }

  /** The file has ended: what follows its last newline is a line too. */
  *end(): Generator<LogPiece> {
    if (this.#rest !== '' || this.#isInLine) yield this.#piece('', true);
  }

  /** Another file is read from here on. */
  reset(): void {
    this.#rest = '';
    this.#isInLine = false;
  }

  #piece(part: string, isEnd: boolean): LogPiece {
    const text = this.#rest + part;
    const isStart = !this.#isInLine;
    this.#rest = '';
    this.#isInLine = !isEnd;
    return { text, isStart, isEnd };
  }
}
