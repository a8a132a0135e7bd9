/**
 * Port-forward over a WebSocket as before Kubernetes 1.30: the ports are in the query, each has one connection and two channels. A
 * channel cannot be ended by itself: a connection is over when the pod has ended its direction.
 */
import type { WebSocket } from 'ws';
import { WebSocketChannels } from '../upgrade/web-socket-channels.ts';
import type { ForwardTarget } from './forward-connection.ts';

export const FORWARD_SUBPROTOCOLS = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', ''];

/** Resolves when all connections have ended, or the client is gone. */
export async function forwardOverWebSocket(
  socket: WebSocket,
  protocol: string,
  ports: readonly number[],
  target: ForwardTarget,
): Promise<void> {
  const isBase64 = protocol.includes('base64.');
  const channels = new WebSocketChannels(socket, { isBase64, endsStreams: false });
  const all = Promise.all(ports.map((port, index) => forward(channels, index * 2, port, target)));
  await Promise.race([all, channels.closed]);
  channels.end();
  target.close();
}

async function forward(
  channels: WebSocketChannels,
  number: number,
  port: number,
  target: ForwardTarget,
): Promise<void> {
  const data = channels.channel(number);
  const error = channels.channel(number + 1).resume();
  const named = Buffer.alloc(2);
  named.writeUInt16LE(port);
  data.write(named);
  error.write(named);
  data.once('finish', () => channels.endInput(number));
  const problem = await target.carry(data, port);
  if (problem !== undefined) await new Promise((resolve) => error.write(problem, resolve));
}
