/** A command whose streams a runtime carries over SPDY, opened by us. */
import type { Duplex, Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { SelectedStreams } from '../../../policies/server/remote-command-options.ts';
import type { CommandStreams } from '../../../runtime/service/streaming-runtime.ts';
import { StateletError } from '../../../types/errors.ts';
import { lastWords } from '../spdy/last-words.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import type { SpdyStream } from '../spdy/spdy-stream.ts';
import { SILENCE_MS } from '../streaming-limits.ts';
import { askForSpdy } from '../upgrade/runtime-upgrade.ts';
import { exitCodeOf, isStatus } from './command-status.ts';

const PROTOCOL = 'v4.channel.k8s.io';

/** A connection for the streams of a command, on which none are opened yet. Throws a `RequestError` where the runtime refuses. */
export async function reachRuntime(url: URL, signal: AbortSignal): Promise<Duplex> {
  return askForSpdy({ url, protocol: PROTOCOL, signal });
}

/** Opens the streams: then the runtime starts the command. */
export function openRuntimeCommand(
  socket: Duplex,
  { stdin, stdout, stderr, tty }: SelectedStreams,
): CommandStreams {
  const connection = new SpdyConnection(socket, { side: 'client' });
  const opened: SpdyStream[] = [];
  const open = (type: string): SpdyStream => {
    const stream = connection.open(new Map([['streamtype', type]]));
    opened.push(stream);
    return stream;
  };
  const status = open('error');
  const streams = {
    stdin: stdin ? open('stdin') : undefined,
    stdout: stdout ? open('stdout') : undefined,
    stderr: stderr ? open('stderr') : undefined,
  };
  streams.stdin?.resume();
  const sizes = tty ? open('resize').resume() : undefined;
  return {
    ...streams,
    resize: ({ width, height }) => {
      if (sizes?.writable) sizes.write(`${JSON.stringify({ Width: width, Height: height })}\n`);
    },
    exit: exitOf(status, connection),
    abandon: () => void leave(connection, opened),
  };
}

/**
 * Once the runtime has answered: a stream of containerd whose answer could not be sent waits for ever, and the container with it, as
 * soon as it writes.
 */
async function leave(connection: SpdyConnection, opened: readonly SpdyStream[]): Promise<void> {
  const answered = Promise.all(opened.map((stream) => stream.answered));
  await Promise.race([answered, setTimeout(SILENCE_MS, undefined, { ref: false })]);
  connection.destroy();
}

async function exitOf(status: Readable, connection: SpdyConnection): Promise<number> {
  try {
    const words = await lastWords(status, isStatus);
    if (words === '') throw new StateletError('Unavailable', LOST);
    return exitCodeOf(words);
  } finally {
    // The output is still read to its end.
    connection.end();
  }
}

const LOST = 'the container runtime closed the connection before the command ended';
