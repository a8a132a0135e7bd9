/** Joins the streams of a command with the streams of a client. */
import type { Readable, Writable } from 'node:stream';
import type { CommandStreams, TerminalSize } from '../../../runtime/service/streaming-runtime.ts';
import { type CommandStatus, exitStatus, failureStatus, ReceivedFailure } from './command-status.ts';

/** The client's ends. Those that it did not ask for are undefined. */
export interface CommandChannels {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  readonly resize: Readable | undefined;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>;
  /** Sends the outcome after all output, and ends the connection. */
  finish(status: CommandStatus): void;
}

/** Resolves when the command has ended, or the client is gone. */
export async function joinCommand(
  streams: CommandStreams,
  channels: CommandChannels,
  kind: 'exec' | 'attach',
): Promise<void> {
  let isOver = false;
  let isGone = false;
  const gone = channels.closed.then(() => {
    isGone = true;
    if (!isOver) streams.abandon();
  });
  feed(channels.stdin, streams.stdin);
  if (channels.resize) onTerminalSizes(channels.resize, (size) => streams.resize(size));
  const outputs = [copy(streams.stdout, channels.stdout), copy(streams.stderr, channels.stderr)];
  const ended = outcome(streams.exit, kind).then(async (status) => {
    isOver = true;
    await Promise.all(outputs);
    if (!isGone) channels.finish(status);
  });
  await Promise.race([gone, ended]);
}

async function outcome(exit: Promise<number>, kind: 'exec' | 'attach'): Promise<CommandStatus> {
  try {
    return exitStatus(await exit);
  } catch (error) {
    if (error instanceof ReceivedFailure) return error.status;
    return failureStatus(error, kind === 'exec' ? 'executing command in' : 'attaching to');
  }
}

/** Input that the command no longer reads is dropped, so that the client's other streams go on. */
function feed(source: Readable | undefined, stdin: Writable | undefined): void {
  if (!source || !stdin) {
    source?.resume();
    stdin?.end();
    return;
  }
  const passOver = (): void => {
    source.unpipe(stdin);
    source.resume();
  };
  stdin.on('error', passOver).once('close', passOver);
  source.on('error', () => undefined).once('close', () => stdin.end());
  source.pipe(stdin);
}

/** Resolves when all is sent, or the client takes no more. Then further output is dropped, and the command goes on. */
function copy(source: Readable | undefined, sink: Writable | undefined): Promise<void> {
  if (!source || !sink) {
    source?.resume();
    sink?.end();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const leave = (): void => {
      source.unpipe(sink);
      source.resume();
      resolve();
    };
    sink.on('error', leave).once('finish', leave).once('close', leave);
    source.on('error', () => undefined).once('close', () => sink.end());
    source.pipe(sink);
  });
}

/** A terminal's size in JSON has about 30 bytes. */
const OBJECT_BYTES_MAX = 1024;

const SIZE_MAX = 65_535;

/**
 * Sizes of the client's terminal are JSON objects one after the other, with or without line ends between them. Reading ends at the first
 * text that is no size, and what follows is dropped.
 */
function onTerminalSizes(source: Readable, take: (size: TerminalSize) => void): void {
  let text = '';
  let isBroken = false;
  source.on('data', (chunk: Buffer) => {
    if (isBroken) return;
    text += chunk.toString('latin1');
    for (let end = text.indexOf('}'); end >= 0 && !isBroken; end = text.indexOf('}')) {
      const size = sizeOf(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size) take(size);
      else isBroken = true;
    }
    isBroken ||= text.length > OBJECT_BYTES_MAX;
    if (isBroken) text = '';
  });
}

function sizeOf(json: string): TerminalSize | undefined {
  try {
    const values = new Map(Object.entries(JSON.parse(json) as Record<string, unknown>));
    const valueOf = (name: string) => values.get(name) ?? values.get(name.toLowerCase()) ?? 0;
    const [width, height] = [valueOf('Width'), valueOf('Height')];
    return isSize(width) && isSize(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= SIZE_MAX;
