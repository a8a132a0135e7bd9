/** What container logs are made of: lines in CRI's format, or in that of Docker. Lines are text with one character per byte. */
import { parseGoTime, ZERO_TIME } from '../formats/time.ts';
import { LogTime } from './log-time.ts';

export interface LogMessage {
  readonly time: LogTime;
  /** Docker's format may have any. */
  readonly stream: string;
  /** With its newline, except for a part of a longer line. */
  readonly content: string;
  /** More of the same line follows: CRI cuts long lines into parts. */
  readonly isPart: boolean;
}

/** undefined: the line is not in that format. `line` has its newline where there is one. */
export type LogFormat = (line: string) => LogMessage | undefined;

export const NEWLINE = '\n';
const PARTIAL = 'P';

/** `TIME STREAM TAG[:TAG…] CONTENT` */
export const criFormat: LogFormat = (line) => {
  const timeEnd = line.indexOf(' ');
  const streamEnd = timeEnd < 0 ? -1 : line.indexOf(' ', timeEnd + 1);
  const tagEnd = streamEnd < 0 ? -1 : line.indexOf(' ', streamEnd + 1);
  if (tagEnd < 0) return undefined;
  const stream = line.slice(timeEnd + 1, streamEnd);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const time = LogTime.parse(line.slice(0, timeEnd));
  if (!time) return undefined;
  const isPart = line[streamEnd + 1] === PARTIAL && (tagEnd === streamEnd + 2 || line[streamEnd + 2] === ':');
  const content = line.slice(tagEnd + 1);
  return { time, stream, content: isPart ? withoutNewline(content) : content, isPart };
};

/** `{"log":"…","stream":"…","time":"…"}`, by Go's rules: the case of keys does not matter, and any key may be missing. */
export const dockerFormat: LogFormat = (line) => {
  const { log, stream, time } = membersOf(line) ?? {};
  const parsedTime = timeOf(time);
  if (log === undefined || stream === undefined || parsedTime === undefined) return undefined;
  return { time: parsedTime, stream, content: textOfBytes(new TextEncoder().encode(log)), isPart: false };
};

export function withoutNewline(content: string): string {
  return content.endsWith(NEWLINE) ? content.slice(0, -1) : content;
}

interface DockerMembers {
  /** undefined: it is no text. */
  readonly log: string | undefined;
  readonly stream: string | undefined;
  readonly time: unknown;
}

function membersOf(line: string): DockerMembers | undefined {
  const value = parsedJson(line);
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  const entries = Object.entries(value ?? {}).map(
    ([key, member]) => [key.toLowerCase(), member as unknown] as const,
  );
  const members = new Map(entries);
  return {
    log: textOf(members.get('log')),
    stream: textOf(members.get('stream')),
    time: members.get('time'),
  };
}

function parsedJson(line: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytesOfText(line)));
  } catch {
    return undefined;
  }
}

function textOf(member: unknown): string | undefined {
  return typeof (member ?? '') === 'string' ? ((member as string | null | undefined) ?? '') : undefined;
}

function timeOf(member: unknown): LogTime | undefined {
  if (member === undefined || member === null) return LogTime.at(ZERO_TIME);
  const moment = typeof member === 'string' ? parseGoTime(member, { strict: true }) : undefined;
  return moment && LogTime.at(moment);
}

// Bytes as text with one character per byte: slices and searches of text are many times faster than those of bytes.

export function bytesOfText(binary: string): Uint8Array {
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function textOfBytes(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

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
