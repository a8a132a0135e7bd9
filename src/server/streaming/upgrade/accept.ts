/** Answers of the server that accept an upgrade. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { LINGER_MS } from '../streaming-limits.ts';

export interface UpgradeRequest {
  readonly raw: IncomingMessage;
  readonly socket: Duplex;
  /** What the client has sent after the request. */
  readonly head: Buffer;
}

export function acceptSpdy({ socket, head }: UpgradeRequest, protocol: string): Duplex {
  const headers = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', `X-Stream-Protocol-Version: ${protocol}`];
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
  return socket;
}

/** As in the kubelet: larger messages end the connection. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

export interface Accepted {
  /** '' for none. ws is not told of it, as it takes no names with a slash, such as SPDY/3.1+portforward.k8s.io. */
  readonly protocol: string;
  /** None is told as an empty name: the servers of container runtimes do so, and through the kubelet clients get their answer. */
  readonly tellsNone?: boolean;
}

/** Undefined for a client that is gone, or whose handshake is not good: that has then been answered. */
export function acceptWebSocket(
  { raw, socket, head }: UpgradeRequest,
  { protocol, tellsNone = false }: Accepted,
): Promise<WebSocket | undefined> {
  delete raw.headers['sec-websocket-protocol'];
  // It has been looked at; ws takes no client that says it twice.
  raw.headers['sec-websocket-version'] = '13';
  // The types do not know of closeTimeout.
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
    closeTimeout: LINGER_MS,
  };
  const server = new WebSocketServer(options);
  server.on('headers', (headers) => {
    if (protocol !== '' || tellsNone) headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  const idleMs = raw.socket.timeout ?? 0;
  return new Promise((resolve) => {
    // It may have gone while the runtime was asked.
    if (socket.destroyed) resolve(undefined);
    socket.once('close', () => resolve(undefined));
    server.handleUpgrade(raw, socket, head, (accepted) => {
      // ws takes the limit away.
      raw.socket.setTimeout(idleMs);
      resolve(accepted);
    });
  });
}
