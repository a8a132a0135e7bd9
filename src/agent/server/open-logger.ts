/** Opens the logger. Lines are JSON or text, and are written synchronously, so that none is lost at exit. */
import { type DestinationStream, type Level, type Logger, pino } from 'pino';
import { printable } from '../policies/formats/terminal-text.ts';
import { descriptorOf, isTerminal, type OutputName } from '../../system/terminal.ts';

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
  const name = outputOf(options);
  const level = levelOf(options.verbosity);
  if (!isForPeople(options)) return jsonLogger(level, output(name));
  // Loaded only for text.
  const { prettyStream } = await import('./pretty.ts');
  const hasColours = isTerminal(name) && process.env.NO_COLOR === undefined;
  return textLogger(level, prettyStream(output(name), hasColours));
}

/** Whether the lines are text. */
export function isForPeople(options: LoggerOptions): boolean {
  const { format } = options;
  return format === 'text' || (format === 'auto' && isTerminal(outputOf(options)));
}

const outputOf = ({ toStderr }: LoggerOptions): OutputName => (toStderr ? 'stderr' : 'stdout');

export function levelOf(verbosity: number): Level {
  if (verbosity >= 6) return 'trace';
  return verbosity >= 4 ? 'debug' : 'info';
}

/** Levels are names, and times are in RFC 3339, as log collectors expect. A line may end in a terminal. */
export function jsonLogger(level: Level, destination: DestinationStream): Logger {
  const formatters = { level: (label: string) => ({ level: label }) };
  const options = { level, base: undefined, formatters, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, { write: (line) => destination.write(printable(line)) });
}

export function textLogger(level: Level, destination: DestinationStream): Logger {
  return pino({ level, base: undefined }, destination);
}

/** Lines that cannot be written are buffered up to this length; further lines are lost. */
const UNWRITTEN_MAX_LENGTH = 1024 * 1024;

/** A closed pipe or a full disk must neither end the daemon nor fill its memory. */
function output(name: OutputName): DestinationStream {
  const options = { dest: descriptorOf(name), sync: true, maxLength: UNWRITTEN_MAX_LENGTH };
  const destination = pino.destination(options);
  destination.on('error', () => undefined);
  return destination;
}
