/** The streams of a command in a container, or of a container's main process, over SPDY (`v4.channel.k8s.io`). */
import type { Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { exitCodeOf, isStatus } from '../../agent/server/streaming/command/command-status.ts';
import { readErrorStream } from '../../agent/server/streaming/spdy/error-stream.ts';
import type { SpdyConnection } from '../../agent/server/streaming/spdy/spdy-connection.ts';
import type { SpdyStream } from '../../agent/server/streaming/spdy/spdy-stream.ts';
import { StateletError } from '../../types/errors.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import { openSpdy } from './spdy-request.ts';

const PROTOCOL = 'v4.channel.k8s.io';

/** Where the streams of this process are. Those that are left out are not asked for. */
export interface LocalStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout: Writable;
  /** Not used with `tty`: all output comes by stdout. */
  readonly stderr: Writable;
  /** The command has a terminal. */
  readonly tty: boolean;
  /** The one that it is joined with. */
  readonly terminal?: Terminal | undefined;
}

/** Resolves with the exit code of the command. Rejects where there is none, for example because the connection broke. */
export async function runRemoteCommand(
  daemon: DaemonConnection,
  path: string,
  command: readonly string[],
  local: LocalStreams,
): Promise<number> {
  const spdy = await openSpdy(daemon, `${path}?${queryOf(command, local)}`, PROTOCOL);
  try {
    return await carry(spdy, local);
  } finally {
    local.terminal?.restore();
    spdy.destroy();
  }
}

function queryOf(command: readonly string[], { stdin, tty }: LocalStreams): string {
  const query = new URLSearchParams({ output: '1' });
  if (stdin !== undefined) query.set('input', '1');
  query.set(tty ? 'tty' : 'error', '1');
  for (const word of command) query.append('command', word);
  return query.toString();
}

async function carry(
  spdy: SpdyConnection,
  { stdin, stdout, stderr, tty, terminal }: LocalStreams,
): Promise<number> {
  const open = (type: string): SpdyStream => spdy.open(new Map([['streamtype', type]]));
  const result = readErrorStream(open('error'), isStatus);
  const remoteStdin = stdin && open('stdin');
  const outputs = [copied(open('stdout'), stdout)];
  if (!tty) outputs.push(copied(open('stderr'), stderr));
  // A command with a terminal waits for this stream, whether sizes come or not.
  const sizes = tty ? open('resize') : undefined;
  if (terminal !== undefined && sizes !== undefined) sendSizes(terminal, sizes);
  if (stdin !== undefined && remoteStdin !== undefined) sendInput(stdin, remoteStdin, terminal);
  const words = await result;
  spdy.end();
  await Promise.all(outputs);
  stopInput(stdin);
  if (words === '') throw broken();
  return exitCodeOf(words);
}

/** Ends when the remote stream has ended, or the connection. The local one stays open for what comes after it. */
async function copied(remote: SpdyStream, local: Writable): Promise<void> {
  remote.pipe(local, { end: false });
  await finished(remote, { writable: false }).catch(() => undefined);
}

/** The remote end may close its standard input, or the whole command may end, before the local one does. */
function sendInput(stdin: Readable, remote: SpdyStream, terminal: Terminal | undefined): void {
  terminal?.begin();
  pipeline(stdin, remote).catch(() => undefined);
}

/** A terminal that is still read would keep this process running. */
function stopInput(stdin: Readable | undefined): void {
  stdin?.destroy();
}

function sendSizes(terminal: Terminal, resize: SpdyStream): void {
  terminal.onSize(({ width, height }) => {
    if (resize.writable) resize.write(`${JSON.stringify({ Width: width, Height: height })}\n`);
  });
}

const broken = (): StateletError =>
  new StateletError('Unavailable', 'the connection broke before the command had ended; it may still run');

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The terminal of this process, for a command that has a terminal in its container. */
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

  /** Called with the present size, and with each change. */
  onSize(listener: (size: Size) => void): void {
    this.#tell = () => {
      const { columns, rows } = this.#output;
      // A terminal whose size is not known has none.
      if (columns > 0 && rows > 0) listener({ width: columns, height: rows });
    };
    this.#tell();
    this.#output.on('resize', this.#tell);
  }

  /** Undoes `begin`. */
  restore(): void {
    if (this.#tell) this.#output.off('resize', this.#tell);
    if (!this.#input.destroyed) this.#input.setRawMode(this.#wasRaw);
  }
}

/** Undefined where one of them is no terminal. */
export function terminalOf(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Terminal | undefined {
  return input.isTTY && output.isTTY ? new Terminal(input, output) : undefined;
}
