import { rfc3339Nano } from './start-clock.ts';

/** A longer line is cut into partial lines (tag P); its last part has the tag F. */
const MAX_LINE_BYTES = 16 * 1024;

/**
 * Turns the output of one stream of a container into lines of CRI's log format, `<time> <stream> <P|F> <text>`. Text
 * is handled as latin1, one character per byte, so that no byte changes and slices are cheap.
 */
export class CriLogFormatter {
  readonly #stream: 'stdout' | 'stderr';
  /** The beginning of a line that the container has not finished yet. */
  #open = '';

  constructor(stream: 'stdout' | 'stderr') {
    this.#stream = stream;
  }

  /** The log lines that this chunk completes, each with a newline. All have the time of the chunk. */
  push(chunk: Buffer, timeNs: bigint): string {
    const head = `${rfc3339Nano(timeNs)} ${this.#stream}`;
    const pieces = (this.#open + chunk.toString('latin1')).split('\n');
    this.#open = '';
    const last = pieces.pop() ?? '';
    const whole = pieces.map((piece) => this.#partials(head, piece) + `${head} F ${this.#takeOpen()}\n`);
    return whole.join('') + this.#partials(head, last);
  }

  /** The last line, if it did not end with a newline; else empty. */
  end(timeNs: bigint): string {
    const text = this.#takeOpen();
    return text === '' ? '' : `${rfc3339Nano(timeNs)} ${this.#stream} F ${text}\n`;
  }

  #partials(head: string, piece: string): string {
    let lines = '';
    let text = piece;
    for (; text.length > MAX_LINE_BYTES; text = text.slice(MAX_LINE_BYTES)) {
      lines += `${head} P ${text.slice(0, MAX_LINE_BYTES)}\n`;
    }
    this.#open = text;
    return lines;
  }

  #takeOpen(): string {
    const open = this.#open;
    this.#open = '';
    return open;
  }
}

/**
 * The end of a container's output as its termination message: at most 80 lines and 2048 bytes. `tail` is the end of
 * its log file (at least 32 KiB of a longer file); of a first line that is cut off, the part that is there is used.
 */
export function outputTail(tail: string): string {
  const lines = tail.split('\n').filter((line) => line !== '');
  const texts = lines.map((line) => /^\S+ std(?:out|err) ([PF]) (.*)$/s.exec(line) ?? ['', 'F', line]);
  const whole = texts.map(([, tag, text]) => `${text ?? ''}${tag === 'P' ? '' : '\n'}`).join('');
  const last = whole
    .split('\n')
    .slice(-(80 + 1))
    .join('\n');
  return Buffer.from(last, 'latin1').subarray(-2048).toString('utf8');
}
