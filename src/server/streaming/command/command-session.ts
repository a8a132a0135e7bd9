/** Joins the streams of a command with the streams of a client. */
import type { Readable, Writable } from 'node:stream';
import type { CommandStreams } from '../../../runtime/service/streaming-runtime.ts';
import { type CommandStatus, exitStatus, failureStatus, ReceivedFailure } from './command-status.ts';
import { onTerminalSizes } from './terminal-sizes.ts';

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

/** What the command does not read is passed over, so that the client's other streams go on. */
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

/** Resolves when all is sent, or the client takes no more: then the command writes on, into nothing. */
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
