/** The streams of a command over a WebSocket. */
import type { WebSocket } from 'ws';
import type { SelectedStreams } from '../../../policies/server/remote-command-options.ts';
import { WebSocketChannels } from '../upgrade/web-socket-channels.ts';
import type { CommandChannels } from './command-session.ts';
import { type CommandStatus, statusText } from './command-status.ts';

/** Empty: the client named none. */
export const COMMAND_SUBPROTOCOLS = [
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
  // Tells the client that the connection stands.
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
