/** Answers of the server that accept an upgrade. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { NO_SNIFF, RequestError } from '../../routes/route.ts';
import { LINGER_MS } from '../streaming-limits.ts';
import { TOKEN_PROTOCOL } from '../../../policies/server/request-attributes.ts';

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
  /** '' for none. It is not passed to ws, which takes no names with a slash, such as SPDY/3.1+portforward.k8s.io. */
  readonly protocol: string;
  /** If no protocol is chosen, the answer has an empty name, as from servers of container runtimes, whose answers the kubelet passes on. */
  readonly tellsNone?: boolean;
}

/** Undefined for a client that is gone, or whose handshake is not good: that has then been answered. */
export function acceptWebSocket(
  { raw, socket, head }: UpgradeRequest,
  { protocol, tellsNone = false }: Accepted,
): Promise<WebSocket | undefined> {
  delete raw.headers['sec-websocket-protocol'];
  // The version was checked before. ws refuses a client that sends the header twice.
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
      // ws has removed the time limit of the socket.
      raw.socket.setTimeout(idleMs);
      resolve(accepted);
    });
  });
}

/** False: the request asks for SPDY, or for a protocol that is not known. */
export function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && isUpgrade(headers.connection);
}

function isUpgrade(connection: string | undefined): boolean {
  return /(?:^|,)\s*upgrade\s*(?:$|,)/iu.test(connection ?? '');
}

/** The names in a header that may be a list, and may be given several times. */
export function listed(request: IncomingMessage, header: string): string[] {
  const values = request.headersDistinct[header] ?? [];
  return values
    .flatMap((value) => value.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The client's first choice among `offered`. Throws 403, and 400 for a client that names none. */
export function spdyProtocol<P extends string>(request: IncomingMessage, offered: readonly P[]): P {
  const wanted = listed(request, 'x-stream-protocol-version');
  if (wanted.length === 0) throw refused(400, 'unable to upgrade: X-Stream-Protocol-Version is required\n');
  if (!(request.headers.upgrade ?? '').toLowerCase().includes('spdy/3.1')) {
    throw refused(400, 'unable to upgrade: the Upgrade header must ask for SPDY/3.1 or websocket\n');
  }
  for (const name of wanted) {
    const found = offered.find((protocol) => protocol === name);
    if (found !== undefined) return found;
  }
  throw refused(
    403,
    `unable to upgrade: unable to negotiate protocol: client supports ${shown(wanted)}, server accepts ${shown(offered)}\n`,
    { 'X-Accepted-Stream-Protocol-Versions': offered.join(', ') },
  );
}

function refused(status: number, message: string, headers: RequestError['headers'] = {}): RequestError {
  return new RequestError(status, message, { ...NO_SNIFF, ...headers });
}

/** As `spdyProtocol`, for a WebSocket. A client that names none gets the protocol '' if it is offered. As in Go, the first of several versions counts. */
export function webSocketProtocol(request: IncomingMessage, offered: readonly string[]): string {
  if (request.headersDistinct['sec-websocket-version']?.[0] !== '13') {
    throw new RequestError(400, 'missing or bad WebSocket Version\n', { 'Sec-WebSocket-Version': '13' });
  }
  // The answer must not repeat the token.
  const wanted = listed(request, 'sec-websocket-protocol').filter((name) => !name.startsWith(TOKEN_PROTOCOL));
  const found = (wanted.length === 0 ? [''] : wanted).find((name) => offered.includes(name));
  if (found !== undefined) return found;
  throw new RequestError(
    403,
    `requested protocol(s) are not supported: ${shown(wanted)}; supports ${shown(offered)}\n`,
  );
}

const shown = (names: readonly string[]): string => `[${names.join(' ')}]`;
