/** Opens the logger. Lines are JSON or text, and are written synchronously, so that none is lost at exit. */
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';

export type { Logger } from 'pino';

export interface LoggerOptions {
  /** The verbosity of klog: 0-3 info, 4-5 debug, 6 and above trace. */
  readonly verbosity: number;
  /** `auto` is text on a terminal and JSON otherwise. */
  readonly format: 'auto' | 'text' | 'json';
  /** For commands that print their result on stdout. */
  readonly toStderr?: boolean;
}

export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const { fd, isTTY: isTerminal } = streamOf(options);
  const level = levelOf(options.verbosity);
  if (!isForPeople(options)) return jsonLogger(level, output(fd));
  // Loaded only for text.
  const { prettyStream } = await import('./pretty.ts');
  return textLogger(level, prettyStream(output(fd), isTerminal && process.env.NO_COLOR === undefined));
}

/** Whether the lines are text. */
export function isForPeople(options: LoggerOptions): boolean {
  const { format } = options;
  return format === 'text' || (format === 'auto' && streamOf(options).isTTY);
}

const streamOf = ({ toStderr }: LoggerOptions) => (toStderr ? process.stderr : process.stdout);

export function levelOf(verbosity: number): Level {
  if (verbosity >= 6) return 'trace';
  return verbosity >= 4 ? 'debug' : 'info';
}

/** Levels are names, and times are in RFC 3339, as log collectors expect. */
export function jsonLogger(level: Level, destination: DestinationStream): Logger {
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ level, base: undefined, formatters, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

export function textLogger(level: Level, destination: DestinationStream): Logger {
  return pino({ level, base: undefined }, destination);
}

/** Lines that cannot be written are buffered up to this length; further lines are lost. */
const UNWRITTEN_MAX_LENGTH = 1024 * 1024;

/** A closed pipe or a full disk must neither end the daemon nor fill its memory. */
function output(fd: number): DestinationStream {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: UNWRITTEN_MAX_LENGTH });
  destination.on('error', () => undefined);
  return destination;
}
