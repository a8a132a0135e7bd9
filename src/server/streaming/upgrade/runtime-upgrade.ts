/** Upgrades at the server of the container runtime. Redirects are not followed. */
import { type IncomingMessage, request as requestHttp, type OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { NO_SNIFF } from '../../routes/answers.ts';
import { RequestError } from '../../routes/route.ts';

export interface RuntimeRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders | readonly string[];
  readonly signal: AbortSignal;
}

/** With `socket`, the runtime has accepted, and the connection is ours. Without it, `response` says why not. */
export interface RuntimeAnswer {
  readonly response: IncomingMessage;
  readonly socket?: Duplex;
}

/** Rejects with the system's error where the runtime's server cannot be reached. */
export function askForUpgrade({ url, method, headers, signal }: RuntimeRequest): Promise<RuntimeAnswer> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false });
    // Only until the answer: then the connection lives for itself.
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
export async function refusalOf(response: IncomingMessage): Promise<RequestError> {
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
