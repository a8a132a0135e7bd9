/** Which protocol a request asks for. */
import type { IncomingMessage } from 'node:http';
import { NO_SNIFF } from '../../routes/answers.ts';
import { RequestError } from '../../routes/route.ts';

/** By WebSocket; else SPDY, or nothing that is known. */
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

/** As above; a client that names none gets the protocol '' if it is offered. As in Go, the first of several versions counts. */
export function webSocketProtocol(request: IncomingMessage, offered: readonly string[]): string {
  if (request.headersDistinct['sec-websocket-version']?.[0] !== '13') {
    throw new RequestError(400, 'missing or bad WebSocket Version\n', { 'Sec-WebSocket-Version': '13' });
  }
  const wanted = listed(request, 'sec-websocket-protocol').filter((name) => !name.startsWith(TOKEN));
  const found = (wanted.length === 0 ? [''] : wanted).find((name) => offered.includes(name));
  if (found !== undefined) return found;
  throw new RequestError(
    403,
    `requested protocol(s) are not supported: ${shown(wanted)}; supports ${shown(offered)}\n`,
  );
}

/** A client that cannot send headers sends its token as the name of a protocol. It must not stand in an answer. */
const TOKEN = 'base64url.bearer.authorization.k8s.io.';

const shown = (names: readonly string[]): string => `[${names.join(' ')}]`;
