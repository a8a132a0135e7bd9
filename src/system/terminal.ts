/**
 * The one place through which this program writes to its standard output and standard error. Names, messages and answers come from
 * pods, plugins, servers and files of others: no character of them may move the cursor, change colours or titles, or turn the
 * direction of a line. The linter keeps all other code from these streams.
 */
import { printable, printableStyled } from '../agent/policies/formats/terminal-text.ts';

export type OutputName = 'stdout' | 'stderr';

export function print(text: string): void {
  process.stdout.write(printable(text));
}

export function printError(text: string): void {
  process.stderr.write(printable(text));
}

/** For text with colours of our own. Texts of others in it have to be `printable` already. */
export function printStyled(text: string): void {
  process.stdout.write(printableStyled(text));
}

export function isTerminal(name: OutputName): boolean {
  return process[name].isTTY;
}

/** For a logger, which writes to the descriptor itself: what it gets has to be `printable` already. */
export function descriptorOf(name: OutputName): number {
  return process[name].fd;
}

/**
 * The streams themselves: for the output of containers (`logs`, `exec`, `attach`), which kubectl passes on as it is, too, and for what
 * draws on the terminal. Whatever else is written to them has to be `printable`.
 */
export const bareStreams: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'> = process;

/** `act` is called when the reader of standard output is gone. If that of standard error is gone, nothing happens. */
export function onOutputClosed(act: () => void): void {
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  process.stdout.on('error', act);
  process.stderr.on('error', () => undefined);
}

/** Resolves when all output is written, or its readers are gone. */
export async function outputWritten(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(written));
}

/** A write that fails counts as well: the output has no reader any more. */
function written(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => void stream.write('', () => resolve()));
}
