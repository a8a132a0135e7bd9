/** A log as a client sees it: which lines and bytes are shown, where the last lines begin, and why a log cannot be shown. */
import { goQuote, goQuoteBytes } from '../formats/go-text.ts';
import type { GoTime } from '../formats/time.ts';
import {
  bytesOfText,
  criFormat,
  dockerFormat,
  type LogFormat,
  type LogMessage,
  type LogPiece,
  NEWLINE,
  withoutNewline,
} from './log-message.ts';
import { Since } from './log-time.ts';

export interface LogViewOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  /** Lines before are left out. */
  readonly since: GoTime | undefined;
  readonly tailLines: number | undefined;
  /** Of the output, timestamps included. */
  readonly limitBytes: number | undefined;
  readonly stream: 'All' | 'Stdout' | 'Stderr';
}

/** `text`: one character per byte. `stream`: `stdout` or `stderr`. */
export type WriteLog = (text: string, stream: string) => void;

const FORMATS: readonly LogFormat[] = [criFormat, dockerFormat];
/** How much of a line of an unknown format the error shows. */
const SHOWN_LENGTH_MAX = 16 * 1024;

/** What a client sees of a log: the lines go in, the output comes out, as the kubelet shows it. */
export class LogView {
  readonly #options: LogViewOptions;
  readonly #write: WriteLog;
  readonly #since: Since | undefined;
  #format: LogFormat | undefined;
  #linesLeft: number;
  #bytesLeft: number;
  /** The last line ended with a newline: the next one begins with a timestamp. */
  #isNewLine = true;
  /** The line whose pieces are being read; undefined: they are left out. */
  #line: LogMessage | undefined;
  #isDone: boolean;
  #problem: string | undefined;

  constructor(options: LogViewOptions, write: WriteLog) {
    this.#options = options;
    this.#write = write;
    this.#since = options.since && new Since(options.since);
    // With `follow`, everything that comes after the last lines is wanted too.
    this.#linesLeft = (options.follow ? undefined : options.tailLines) ?? Infinity;
    this.#bytesLeft = options.limitBytes ?? Infinity;
    this.#isDone = this.#linesLeft <= 0;
  }

  /** No more lines are wanted. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Why the log cannot be shown further, in the kubelet's words. */
  get problem(): string | undefined {
    return this.#problem;
  }

  take({ text, isStart, isEnd }: LogPiece): void {
    if (this.#isDone) return;
    if (isStart) this.#begin(text);
    else if (this.#line) this.#continue(this.#line, isEnd ? this.#tailOf(this.#line, text) : text);
    if (isEnd) this.#end();
  }

  #begin(text: string): void {
    this.#format ??= FORMATS.find((format) => format(text) !== undefined);
    if (!this.#format) {
      const shown = goQuoteBytes(bytesOfText(text.slice(0, SHOWN_LENGTH_MAX)));
      this.#fail(`failed to get parse function: unsupported log format: ${shown}`);
      return;
    }
    const message = this.#format(text);
    if (!message) return;
    this.#line = message;
    if (this.#isWanted(message)) this.#show(message);
    this.#isNewLine = message.content === '' || message.content.endsWith(NEWLINE);
  }

  #continue(line: LogMessage, text: string): void {
    if (text === '') return;
    if (this.#isWanted(line)) this.#emit(text, line.stream);
    this.#isNewLine = text.endsWith(NEWLINE);
  }

  #tailOf({ isPart }: LogMessage, text: string): string {
    return isPart ? withoutNewline(text) : text;
  }

  #end(): void {
    if (this.#line) this.#linesLeft -= 1;
    this.#line = undefined;
    if (this.#linesLeft <= 0) this.#isDone = true;
  }

  #isWanted({ time, stream: name }: LogMessage): boolean {
    const { stream } = this.#options;
    if (this.#since && time.isBefore(this.#since)) return false;
    return stream === 'All' || (name !== 'stdout' && name !== 'stderr') || name === stream.toLowerCase();
  }

  #show({ time, stream, content }: LogMessage): void {
    if (stream !== 'stdout' && stream !== 'stderr') {
      this.#fail(`unexpected stream type ${goQuote(stream)}`);
      return;
    }
    if (this.#options.timestamps && this.#isNewLine) this.#emit(`${time.stamp} `, stream);
    this.#emit(content, stream);
  }

  #emit(text: string, stream: string): void {
    if (this.#isDone) return;
    const part = text.length > this.#bytesLeft ? text.slice(0, this.#bytesLeft) : text;
    this.#bytesLeft -= part.length;
    if (part !== '') this.#write(part, stream);
    if (this.#bytesLeft <= 0) this.#isDone = true;
  }

  #fail(problem: string): void {
    this.#problem = problem;
    this.#isDone = true;
  }
}

/** A failed call of the system, as Go names it: `lstat /var/log/x: no such file or directory`. */
export interface FailedCall {
  readonly call: string;
  readonly path: string;
  readonly reason: string;
}

export function unresolvedLog(logPath: string, failed: FailedCall): string {
  return `failed to try resolving symlinks in path ${goQuote(logPath)}: ${goError(failed)}`;
}

export function unopenedLog(logPath: string, failed: FailedCall): string {
  return `failed to open log file ${goQuote(logPath)}: ${goError(failed)}`;
}

export function unreadLog(logPath: string, failed: FailedCall): string {
  return `failed to read log file ${goQuote(logPath)}: ${goError(failed)}`;
}

function goError({ call, path, reason }: FailedCall): string {
  return `${call} ${path}: ${reason}`;
}

const LINE_FEED = 0x0a;

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
    for (let end = block.lastIndexOf(LINE_FEED); end >= 0; end = block.lastIndexOf(LINE_FEED, end - 1)) {
      this.#left -= 1;
      if (this.#left <= 0) return end + 1;
      // A negative offset would count from the end of the block.
      if (end === 0) break;
    }
    return undefined;
  }
}
