/** Carries forwarded connections between a client and the runtime. */
import type { Duplex } from 'node:stream';
import { createWebSocketStream, type WebSocket } from 'ws';
import type { PortForwarder, Streaming } from '../../../runtime/service/streaming-runtime.ts';
import { askRuntime } from '../found-container.ts';
import { readErrorStream } from '../spdy/error-stream.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import type { StreamingLimits } from '../streaming-limits.ts';
import {
  acceptSpdy,
  acceptWebSocket,
  isWebSocket,
  listed,
  spdyProtocol,
  type UpgradeRequest,
  webSocketProtocol,
} from '../upgrade/accept.ts';
import { askForSpdy, joinSockets, proxyUpgrade } from '../upgrade/proxy-upgrade.ts';
import { WebSocketChannels } from '../upgrade/web-socket-channels.ts';
import { allSent, type ForwardedPod, forwarderTarget, type ForwardTarget } from './forward-connection.ts';
import { FORWARD_PROTOCOL, forwardOverSpdy } from './spdy-forward.ts';

export interface ServedForward extends ForwardedPod {
  readonly ports: readonly number[];
  start(): Promise<Streaming<PortForwarder>>;
  readonly signal: AbortSignal;
  readonly limits: StreamingLimits;
}

/** SPDY in the messages of a WebSocket. */
const TUNNEL = `SPDY/3.1+${FORWARD_PROTOCOL}`;

/** Whether the client carries SPDY in a WebSocket: then it names the port of each connection in its stream. */
export function isTunnel({ raw }: Pick<UpgradeRequest, 'raw'>): boolean {
  return isWebSocket(raw) && listed(raw, 'sec-websocket-protocol').includes(TUNNEL);
}

/** Throws a `RequestError` while the request can still be refused. Resolves when the connection is done with or handed over. */
export async function serveForward(client: UpgradeRequest, forward: ServedForward): Promise<void> {
  const serve = serving(client, forward);
  const started = await askRuntime(forward.start());
  const { signal } = forward;
  if ('streams' in started) await serve(forwarderTarget(started.streams, forward), false);
  else if (isTunnel(client)) await tunnel(client, started.url, signal);
  // Not handed over: the runtime would close the connection after the pod's last bytes, before a slow client has read them.
  else if (isWebSocket(client.raw))
    await serve(await askRuntime(openRuntimeForward(started.url, signal)), true);
  else await proxyUpgrade(client, started.url, signal);
}

/** `isCarried`: the runtime's own server carries the connections. */
type Serving = (target: ForwardTarget, isCarried: boolean) => Promise<void>;

/** Refuses a request for a protocol that is not known. */
function serving(client: UpgradeRequest, { ports, limits: { creationMs } }: ServedForward): Serving {
  if (isTunnel(client)) {
    return async (target) => {
      const socket = await acceptWebSocket(client, { protocol: TUNNEL });
      if (socket) await forwardOverSpdy(createWebSocketStream(socket), target, creationMs);
      else target.close();
    };
  }
  if (isWebSocket(client.raw)) {
    const protocol = webSocketProtocol(client.raw, FORWARD_SUBPROTOCOLS);
    return async (target, isCarried) => {
      const socket = await acceptWebSocket(client, { protocol, tellsNone: isCarried });
      if (socket) await forwardOverWebSocket(socket, protocol, ports, target);
      else target.close();
    };
  }
  const protocol = spdyProtocol(client.raw, [FORWARD_PROTOCOL]);
  return (target) => forwardOverSpdy(acceptSpdy(client, protocol), target, creationMs);
}

/** The runtime speaks SPDY; the bytes are the same. */
async function tunnel(client: UpgradeRequest, url: URL, signal: AbortSignal): Promise<void> {
  const runtime = await askRuntime(askForSpdy({ url, protocol: FORWARD_PROTOCOL, signal }));
  const socket = await acceptWebSocket(client, { protocol: TUNNEL });
  if (socket) joinSockets(createWebSocketStream(socket), runtime);
  else runtime.destroy();
}

const FORWARD_SUBPROTOCOLS = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', ''];

/**
 * Port-forward over a WebSocket as before Kubernetes 1.30: the ports are in the query, and each has one connection and two channels. A
 * channel cannot end by itself: a connection is over when the pod has ended its direction. Resolves when all have ended, or the client
 * is gone.
 */
async function forwardOverWebSocket(
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

/** Opens a SPDY connection to the runtime, which carries the connections to a pod's ports. Throws a `RequestError` with the runtime's answer where it refuses. */
async function openRuntimeForward(url: URL, signal: AbortSignal): Promise<ForwardTarget> {
  const socket = await askForSpdy({ url, protocol: FORWARD_PROTOCOL, signal });
  const connection = new SpdyConnection(socket, { side: 'client' });
  let requests = 0;
  return {
    carry: (client, port) => carry(client, connection, { port, request: requests++ }),
    close: () => connection.destroy(),
  };
}

interface Carried {
  readonly port: number;
  readonly request: number;
}

async function carry(
  client: Duplex,
  connection: SpdyConnection,
  { port, request }: Carried,
): Promise<string | undefined> {
  const open = (streamtype: string) =>
    connection.open(
      new Map([
        ['streamtype', streamtype],
        ['port', String(port)],
        ['requestid', String(request)],
      ]),
    );
  const problem = readErrorStream(open('error').end());
  const data = open('data');
  client.on('error', () => undefined).once('close', () => data.destroy());
  data.once('close', () => {
    client.end();
    client.unpipe(data);
    client.resume();
  });
  if (client.destroyed) data.destroy();
  client.pipe(data).pipe(client);
  await allSent(client);
  return (await problem) || undefined;
}
