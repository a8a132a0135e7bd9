/** One interface to the streams of a command, whether the runtime hands them over or serves them at a URL. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type {
  CommandStreams,
  PortForwarder,
  Streaming,
  TerminalSize,
} from '../../src/agent/runtime/service/streaming-runtime.ts';
import { waitFor } from './wait-for.ts';

export interface HeldStreams {
  /** What has come so far. */
  readonly stdout: string;
  readonly stderr: string;
  type(text: string): void;
  resize(size: TerminalSize): void;
  /** Resolves when the standard output has this text. */
  shows(text: string): Promise<void>;
  readonly exit: Promise<number>;
  /** As a client that disappears. */
  leave(): void;
}

export async function hold(streaming: Streaming<CommandStreams>): Promise<HeldStreams> {
  const held = 'url' in streaming ? await overWebSocket(streaming.url) : handedOver(streaming.streams);
  return Object.assign(held, {
    shows: async (text: string) => {
      await waitFor(() => held.stdout.includes(text), { what: `${JSON.stringify(text)} in the output` });
    },
  });
}

type Bare = Omit<HeldStreams, 'shows'> & { stdout: string; stderr: string };

function handedOver(streams: CommandStreams): Bare {
  const held = {
    stdout: '',
    stderr: '',
    type: (text: string) => void streams.stdin?.write(text),
    resize: (size: TerminalSize) => streams.resize(size),
    exit: streams.exit,
    leave: () => streams.abandon(),
  };
  streams.stdout?.on('data', (chunk: Buffer) => (held.stdout += chunk.toString()));
  streams.stderr?.on('data', (chunk: Buffer) => (held.stderr += chunk.toString()));
  return held;
}

/** The channels of the subprotocol `v4.channel.k8s.io`. */
const [STDIN, STDOUT, STDERR, ERROR, RESIZE] = [0, 1, 2, 3, 4];

async function overWebSocket(url: URL): Promise<Bare> {
  const socket = new WebSocket(url, ['v4.channel.k8s.io']);
  const send = (channel: number, text: string): void =>
    socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
  const exit = Promise.withResolvers<number>();
  const held = {
    stdout: '',
    stderr: '',
    type: (text: string) => send(STDIN, text),
    resize: ({ width, height }: TerminalSize) =>
      send(RESIZE, JSON.stringify({ Width: width, Height: height })),
    exit: exit.promise,
    leave: () => socket.terminate(),
  };
  exit.promise.catch(() => undefined);
  socket.on('message', (message: Buffer) => {
    const [channel, text] = [message[0], message.subarray(1).toString()];
    if (channel === STDOUT) held.stdout += text;
    if (channel === STDERR) held.stderr += text;
    if (channel === ERROR && text !== '') settle(JSON.parse(text) as Status, exit);
  });
  socket.on('error', exit.reject);
  socket.once('close', () => exit.reject(new Error('the connection ended without a status')));
  await once(socket, 'open');
  return held;
}

/** The needed part of a metav1.Status. */
interface Status {
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly message: string }[] };
}

function settle({ status, message, details }: Status, exit: PromiseWithResolvers<number>): void {
  const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status === 'Success') exit.resolve(0);
  else if (code !== undefined) exit.resolve(Number(code));
  else exit.reject(new Error(message));
}

/** Writes to the requested port, and resolves with the first bytes that come back. */
export async function askPort(
  streaming: Streaming<PortForwarder>,
  port: number,
  words: string,
): Promise<string> {
  if ('streams' in streaming) {
    const connection = await streaming.streams.connect(port);
    connection.write(words);
    const [answer] = (await once(connection, 'data')) as [Buffer];
    streaming.streams.close();
    return answer.toString();
  }
  const socket = new WebSocket(streaming.url, ['v4.channel.k8s.io']);
  const answer = new Promise<string>((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('the connection ended without an answer')));
    // Channel 0 has the data, channel 1 errors. The first frame of each names the port.
    const seen = new Set<number>();
    socket.on('message', (frame: Buffer) => {
      const channel = frame[0] ?? 0;
      if (!seen.has(channel)) seen.add(channel);
      else if (channel === 0) resolve(frame.subarray(1).toString());
      else reject(new Error(frame.subarray(1).toString()));
    });
  });
  await once(socket, 'open');
  socket.send(Buffer.concat([Buffer.from([0]), Buffer.from(words)]));
  return answer.finally(() => socket.terminate());
}
