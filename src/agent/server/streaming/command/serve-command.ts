/**
 * Carries the streams of a command between a client and the runtime. A runtime that serves them itself closes its connection right
 * after the outcome, while much of the output is still on its way to a slow client. Bytes that this client sends then, such as a
 * ping, must not reach that connection: the system would discard the output. So the client's connection ends here.
 */
import type { Duplex, Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { SelectedStreams } from '../../../policies/server/remote-command-options.ts';
import type { CommandStreams, Streaming } from '../../../runtime/service/streaming-runtime.ts';
import { StateletError } from '../../../../types/errors.ts';
import { askRuntime } from '../found-container.ts';
import { readErrorStream } from '../spdy/error-stream.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import type { SpdyStream } from '../spdy/spdy-stream.ts';
import { SILENCE_MS, type StreamingLimits } from '../streaming-limits.ts';
import {
  acceptSpdy,
  acceptWebSocket,
  isWebSocket,
  spdyProtocol,
  type UpgradeRequest,
  webSocketProtocol,
} from '../upgrade/accept.ts';
import { askForSpdy } from '../upgrade/proxy-upgrade.ts';
import { WebSocketChannels } from '../upgrade/web-socket-channels.ts';
import { type CommandChannels, joinCommand } from './command-session.ts';
import { type CommandStatus, exitCodeOf, isStatus, statusText } from './command-status.ts';
import { COMMAND_PROTOCOLS, spdyChannels } from './spdy-channels.ts';

export interface ServedCommand {
  readonly kind: 'exec' | 'attach';
  readonly streams: SelectedStreams;
  /** Asks the runtime; an embedded one starts the command. */
  start(): Promise<Streaming<CommandStreams>>;
  readonly signal: AbortSignal;
  readonly limits: StreamingLimits;
}

/** Throws a `RequestError` while the request can still be refused. Resolves when the connection is done with or handed over. */
export async function serveCommand(client: UpgradeRequest, command: ServedCommand): Promise<void> {
  const { kind, signal } = command;
  const open = opening(client, command);
  const started = await askRuntime(command.start());
  if ('url' in started) {
    const socket = await askRuntime(reachRuntime(started.url, signal));
    const channels = await open(true).catch(() => undefined);
    if (channels) await joinCommand(openRuntimeCommand(socket, command.streams), channels, kind);
    else socket.destroy();
    return;
  }
  const { streams } = started;
  // The exit may be known before it is awaited.
  streams.exit.catch(() => undefined);
  const channels = await open(false).catch(() => undefined);
  if (channels) await joinCommand(streams, channels, kind);
  else streams.abandon();
}

/** Resolves with undefined, or rejects, if the client has not opened its streams. `isCarried`: the runtime's own server carries them. */
type Opening = (isCarried: boolean) => Promise<CommandChannels | undefined>;

/** Refuses a request for a protocol that is not known, before the command is started. */
function opening(client: UpgradeRequest, { streams, limits: { creationMs } }: ServedCommand): Opening {
  if (isWebSocket(client.raw)) {
    const protocol = webSocketProtocol(client.raw, COMMAND_SUBPROTOCOLS);
    return async (isCarried) => {
      const socket = await acceptWebSocket(client, { protocol, tellsNone: isCarried });
      return socket && webSocketCommand(socket, protocol, streams);
    };
  }
  const protocol = spdyProtocol(client.raw, COMMAND_PROTOCOLS);
  return () => spdyChannels(acceptSpdy(client, protocol), { streams, protocol, creationMs });
}

/** Empty: the client named none. */
const COMMAND_SUBPROTOCOLS = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
  '',
];

const STDIN = 0;

const STDOUT = 1;

const STDERR = 2;

const ERROR = 3;

const RESIZE = 4;

export function webSocketCommand(
  socket: WebSocket,
  protocol: string,
  streams: SelectedStreams,
): CommandChannels {
  const isV5 = protocol.startsWith('v5.');
  const channels = new WebSocketChannels(socket, {
    isBase64: protocol.includes('base64.'),
    endsStreams: isV5,
  });
  const sendsJson = isV5 || protocol.startsWith('v4.');
  const status = channels.channel(ERROR).resume();
  // An empty message tells the client that it is connected.
  const first = streams.stdout ? STDOUT : streams.stderr ? STDERR : ERROR;
  channels.send(first, Buffer.alloc(0), () => undefined);
  return {
    stdin: streams.stdin ? channels.channel(STDIN) : undefined,
    stdout: streams.stdout ? channels.channel(STDOUT).resume() : undefined,
    stderr: streams.stderr ? channels.channel(STDERR).resume() : undefined,
    resize: channels.channel(RESIZE),
    closed: channels.closed,
    finish: (outcome: CommandStatus) => {
      const text = sendsJson ? JSON.stringify(outcome) : statusText(outcome);
      if (text === '') channels.end();
      else status.write(text, () => channels.end());
    },
  };
}

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
 * Closes the connection when the runtime has answered each stream. If it were closed earlier, containerd would wait for ever to send its
 * answer, and the container would block as soon as it writes.
 */
async function leave(connection: SpdyConnection, opened: readonly SpdyStream[]): Promise<void> {
  const answered = Promise.all(opened.map((stream) => stream.answered));
  await Promise.race([answered, setTimeout(SILENCE_MS, undefined, { ref: false })]);
  connection.destroy();
}

async function exitOf(status: Readable, connection: SpdyConnection): Promise<number> {
  try {
    const words = await readErrorStream(status, isStatus);
    if (words === '') throw new StateletError('Unavailable', LOST);
    return exitCodeOf(words);
  } finally {
    // The output is still read to its end.
    connection.end();
  }
}

const LOST = 'the container runtime closed the connection before the command ended';
