/** The streams of a command over SPDY. The client opens one for each, and says by a header which one it is. */
import type { Duplex } from 'node:stream';
import { StateletError } from '../../../../types/errors.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import type { SpdyStream } from '../spdy/spdy-stream.ts';
import type { CommandChannels } from './command-session.ts';
import { type CommandStatus, statusText } from './command-status.ts';
import type { SelectedStreams } from '../../../policies/server/remote-command-options.ts';

/** Versions of the protocol by which commands are carried, the best first. */
export const COMMAND_PROTOCOLS = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
] as const;
export type CommandProtocol = (typeof COMMAND_PROTOCOLS)[number];

const sendsJson = (protocol: CommandProtocol): boolean => /^v[45]/u.test(protocol);
const resizes = (protocol: CommandProtocol): boolean => /^v[345]/u.test(protocol);

export interface SpdyCommand {
  readonly streams: SelectedStreams;
  readonly protocol: CommandProtocol;
  readonly creationMs: number;
}

/** Resolves when the client has opened all streams; rejects with `DeadlineExceeded`, and closes the connection. */
export async function spdyChannels(socket: Duplex, command: SpdyCommand): Promise<CommandChannels> {
  const opened = new Map<string, SpdyStream>();
  const expected = expectedTypes(command);
  const { promise: allOpened, resolve } = Promise.withResolvers<'opened'>();
  const connection = new SpdyConnection(socket, {
    side: 'server',
    onStream: (stream) => {
      const type = stream.headers.get('streamtype') ?? '';
      // What the client sends is read only of these.
      if (type !== 'stdin' && type !== 'resize') stream.resume();
      opened.set(type, stream);
      if (expected.every((name) => opened.has(name))) resolve('opened');
    },
  });
  await opensInTime(allOpened, connection, command.creationMs);
  const { stdin, stdout, stderr } = command.streams;
  return {
    stdin: stdin ? opened.get('stdin') : undefined,
    stdout: stdout ? opened.get('stdout') : undefined,
    stderr: stderr ? opened.get('stderr') : undefined,
    resize: opened.get('resize'),
    closed: connection.closed,
    finish: (status) => finish(status, command.protocol, opened.get('error'), connection),
  };
}

function expectedTypes({ streams, protocol }: SpdyCommand): string[] {
  const { stdin, stdout, stderr, tty } = streams;
  return [
    'error',
    ...(stdin ? ['stdin'] : []),
    ...(stdout ? ['stdout'] : []),
    ...(stderr ? ['stderr'] : []),
    ...(tty && resizes(protocol) ? ['resize'] : []),
  ];
}

async function opensInTime(
  allOpened: Promise<'opened'>,
  connection: SpdyConnection,
  creationMs: number,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), creationMs);
  });
  const first = await Promise.race([allOpened, late, connection.closed]);
  clearTimeout(timer);
  if (first === 'opened') return;
  connection.destroy();
  const why =
    first === 'late'
      ? 'timed out waiting for client to create streams'
      : 'the client has closed the connection';
  throw new StateletError('DeadlineExceeded', why);
}

function finish(
  status: CommandStatus,
  protocol: CommandProtocol,
  stream: SpdyStream | undefined,
  connection: SpdyConnection,
): void {
  const text = sendsJson(protocol) ? JSON.stringify(status) : statusText(status);
  if (!stream || stream.destroyed) connection.end();
  else stream.once('close', () => connection.end()).end(text, () => connection.end());
}
