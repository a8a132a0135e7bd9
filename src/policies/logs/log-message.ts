/** What container logs are made of: lines in CRI's format, or in that of Docker. Lines are text with one character per byte. */
import { bytesOfText, textOfBytes } from '../formats/binary-text.ts';
import { parseGoTime, ZERO_TIME } from '../formats/go-time.ts';
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
