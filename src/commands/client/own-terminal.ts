/** The terminal of this process, for a command that has one of its own. */
import type { ReadStream, WriteStream } from 'node:tty';

export interface Size {
  readonly width: number;
  readonly height: number;
}

export class Terminal {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #tell: (() => void) | undefined;
  readonly #wasRaw: boolean;

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input;
    this.#output = output;
    this.#wasRaw = input.isRaw;
  }

  /** From now on keys go to the command as they are, Ctrl-C too. */
  begin(): void {
    this.#input.setRawMode(true);
  }

  /** Hears of the size now, and of each change. */
  onSize(listener: (size: Size) => void): void {
    this.#tell = () => {
      const { columns, rows } = this.#output;
      // A terminal whose size is not known has none.
      if (columns > 0 && rows > 0) listener({ width: columns, height: rows });
    };
    this.#tell();
    this.#output.on('resize', this.#tell);
  }

  /** As it was before. */
  restore(): void {
    if (this.#tell) this.#output.off('resize', this.#tell);
    if (!this.#input.destroyed) this.#input.setRawMode(this.#wasRaw);
  }
}

/** Undefined where one of them is no terminal. */
export function terminalOf(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Terminal | undefined {
  return input.isTTY && output.isTTY ? new Terminal(input, output) : undefined;
}
