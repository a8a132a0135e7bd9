/** A command whose streams a runtime carries over SPDY, opened by us. */
import type { Readable } from 'node:stream';
import type { SelectedStreams } from '../../../policies/server/remote-command-options.ts';
import type { CommandStreams } from '../../../runtime/service/streaming-runtime.ts';
import { StateletError } from '../../../types/errors.ts';
import { lastWords } from '../spdy/last-words.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import { askForSpdy } from '../upgrade/runtime-upgrade.ts';
import { exitCodeOf, isStatus } from './command-status.ts';

const PROTOCOL = 'v4.channel.k8s.io';

/** Throws a `RequestError` with the runtime's answer where it refuses. */
export async function openRuntimeCommand(
  url: URL,
  { stdin, stdout, stderr, tty }: SelectedStreams,
  signal: AbortSignal,
): Promise<CommandStreams> {
  const socket = await askForSpdy({ url, protocol: PROTOCOL, signal });
  const connection = new SpdyConnection(socket, { side: 'client' });
  const open = (type: string) => connection.open(new Map([['streamtype', type]]));
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
    abandon: () => connection.destroy(),
  };
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
