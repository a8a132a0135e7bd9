/** Passes a request and its connection on to the runtime's server, as it is. */
import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { onceStill } from '../../../runtime/service/runtime-service.ts';
import { errorMessage } from '../../../../types/errors.ts';
import { NO_SNIFF, RequestError } from '../../routes/route.ts';
import { LINGER_MS } from '../streaming-limits.ts';
import type { UpgradeRequest } from './accept.ts';

/** Resolves when the connection has been handed over. Throws 500 where the runtime neither accepts nor refuses. */
export async function proxyUpgrade(client: UpgradeRequest, url: URL, signal: AbortSignal): Promise<void> {
  const { raw, socket, head } = client;
  const { response, socket: runtime } = await asked(raw, url, signal);
  if (runtime) {
    socket.write(headOf(response));
    if (head.length > 0) socket.unshift(head);
    joinSockets(socket, runtime);
    return;
  }
  if ((response.statusCode ?? 0) < 400) throw await refusalOf(response);
  socket.write(headOf(response));
  response.pipe(socket);
}

async function asked(raw: IncomingMessage, url: URL, signal: AbortSignal): Promise<RuntimeAnswer> {
  const { method = 'GET' } = raw;
  try {
    return await askForUpgrade({ url, method, headers: forwardedHeaders(raw), signal });
  } catch (error) {
    throw new RequestError(500, `${errorMessage(error)}\n`, NO_SNIFF);
  }
}

/** Headers of a client that the runtime does not get: credentials for this server, and what describes the body, which is not sent on. */
const NOT_FOR_RUNTIME = new Set(['authorization', 'content-length', 'transfer-encoding', 'x-forwarded-for']);

function forwardedHeaders({ rawHeaders, socket, method }: IncomingMessage): string[] {
  const headers: string[] = [];
  for (const [name, value] of pairs(rawHeaders))
    if (!NOT_FOR_RUNTIME.has(name.toLowerCase())) headers.push(name, value);
  // Without it Node would send the end of a chunked body, and the runtime would take that for the first bytes of the stream.
  if (method !== 'GET') headers.push('Content-Length', '0');
  if (socket.remoteAddress !== undefined) headers.push('X-Forwarded-For', socket.remoteAddress);
  return headers;
}

function* pairs(rawHeaders: readonly string[]): Generator<[string, string]> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    yield [rawHeaders[at] ?? '', rawHeaders[at + 1] ?? ''];
}

/** Headers of the runtime that the client does not get: the body of the answer is passed on decoded, and ends with the connection. */
const NOT_FOR_CLIENT = new Set(['transfer-encoding', 'connection', 'keep-alive']);

function headOf(response: IncomingMessage): string {
  const { statusCode = 0, statusMessage = '', rawHeaders } = response;
  const isAccepted = statusCode === 101;
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (const [name, value] of pairs(rawHeaders)) {
    if (isAccepted || !NOT_FOR_CLIENT.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  if (!isAccepted) lines.push('Connection: close');
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * Bytes both ways until one side ends. What that side has sent before still reaches the other: the connection is closed only when
 * the other has closed it too.
 */
export function joinSockets(client: Duplex, runtime: Duplex): void {
  passOn(client, runtime, () => runtime.destroy());
  // Output that came before the runtime's connection broke is still sent.
  passOn(runtime, client, () => client.end(() => client.destroy()));
  // When the client is gone, nobody reads the runtime's output any more. The client's input still has to reach the runtime.
  client.once('close', () => {
    if (runtime.writableFinished) runtime.destroy();
    else runtime.once('finish', () => runtime.destroy());
  });
}

function passOn(from: Duplex, to: Duplex, onBroken: () => void): void {
  from.on('error', () => undefined).pipe(to);
  from.once('end', () => {
    // 'close' would not come any more, and nothing would clear the timer.
    if (to.destroyed) return;
    const stopWaiting = onceStill({ stillMs: LINGER_MS, progress: () => to.writableLength }, () =>
      to.destroy(),
    );
    to.once('close', stopWaiting);
  });
  // Closed without an 'end': the connection broke.
  from.once('close', () => {
    if (!from.readableEnded) onBroken();
  });
}

export interface RuntimeRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders | readonly string[];
  readonly signal: AbortSignal;
}

/** With `socket`, the runtime has accepted, and the connection is ours. Without it, `response` says why not. */
interface RuntimeAnswer {
  readonly response: IncomingMessage;
  readonly socket?: Duplex;
}

/** Redirects are not followed. Rejects with the system's error if the runtime's server cannot be reached. */
function askForUpgrade({ url, method, headers, signal }: RuntimeRequest): Promise<RuntimeAnswer> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false });
    // The signal counts until the answer: from then on the caller ends the connection.
    const giveUp = () => asked.destroy(new Error('the client has closed the connection'));
    signal.addEventListener('abort', giveUp, { once: true });
    const settle = (answer: RuntimeAnswer) => {
      signal.removeEventListener('abort', giveUp);
      resolve(answer);
    };
    asked.on('error', reject);
    asked.on('response', (response) => settle({ response }));
    asked.on('upgrade', (response, socket, head) => {
      socket.on('error', () => undefined);
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      settle({ response, socket });
    });
    asked.end();
  });
}

export interface SpdyRequest {
  readonly url: URL;
  /** What the streams of the connection mean. */
  readonly protocol: string;
  readonly signal: AbortSignal;
}

/** A connection for SPDY. Throws a `RequestError` with the runtime's answer where it refuses. */
export async function askForSpdy({ url, protocol, signal }: SpdyRequest): Promise<Duplex> {
  const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol };
  const { response, socket } = await askForUpgrade({ url, method: 'POST', headers, signal });
  if (!socket) throw await refusalOf(response);
  return socket;
}

const BODY_BYTES_MAX = 65_536;

/** The runtime's refusal, for the client. */
async function refusalOf(response: IncomingMessage): Promise<RequestError> {
  const { statusCode = 0 } = response;
  if (statusCode < 400) {
    response.destroy();
    return new RequestError(500, `invalid upgrade response: status code ${statusCode}\n`, NO_SNIFF);
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) break;
    parts.push(part);
  }
  return new RequestError(statusCode, Buffer.concat(parts).toString());
}
