import { rfc3339Nano } from '../monitor/start-clock.ts';

/** A longer line is cut into partial ones (tag P), the last of which has the tag F. */
const MAX_LINE_BYTES = 16 * 1024;

/**
 * Turns what one stream of a container wrote into lines of CRI's log format, `<time> <stream> <P|F> <text>`. Text is
 * handled as latin1, one character a byte, so that no byte is changed and slices are cheap.
 */
export class CriLogFormatter {
  readonly #stream: 'stdout' | 'stderr';
  /** The beginning of a line whose end has not been written yet. */
  #open = '';

  constructor(stream: 'stdout' | 'stderr') {
    this.#stream = stream;
  }

  /** The log lines that this chunk completes, each ended by a newline; all carry the time of the chunk. */
  push(chunk: Buffer, timeNs: bigint): string {
    const head = `${rfc3339Nano(timeNs)} ${this.#stream}`;
    const pieces = (this.#open + chunk.toString('latin1')).split('\n');
    this.#open = '';
    const last = pieces.pop() ?? '';
    const whole = pieces.map((piece) => this.#partials(head, piece) + `${head} F ${this.#takeOpen()}\n`);
    return whole.join('') + this.#partials(head, last);
  }

  /** What was written without a newline at the end. */
  end(timeNs: bigint): string {
    const rest = this.#takeOpen();
    return rest === '' ? '' : `${rfc3339Nano(timeNs)} ${this.#stream} F ${rest}\n`;
  }

  #partials(head: string, piece: string): string {
    let lines = '';
    let rest = piece;
    for (; rest.length > MAX_LINE_BYTES; rest = rest.slice(MAX_LINE_BYTES)) {
      lines += `${head} P ${rest.slice(0, MAX_LINE_BYTES)}\n`;
    }
    this.#open = rest;
    return lines;
  }

  #takeOpen(): string {
    const open = this.#open;
    this.#open = '';
    return open;
  }
}

/**
 * The end of a container's output for its termination message: of the last 80 lines the last 2048 bytes. `tail` is the
 * end of its log file, at least 32 KiB of it where it is that long; a line cut off at the front is used from its cut on.
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
