/** GET requests of probes and lifecycle hooks: each has its own connection, and certificates are not checked. */
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { isIP } from 'node:net';
import { hostPort, type HTTPRequest, requestURL } from '../../policies/probes/probe-request.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import { BoundedOutput } from '../../../system/run-command.ts';
import { dialFailure, isDialFailure, type SystemError } from './tcp-connect.ts';

/** Includes the first request. */
const REQUESTS_MAX = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** OpenSSL's message for a server that does not speak TLS; the error's code differs. */
const NOT_TLS = 'wrong version number';
const HTTP_RESPONSE = 'http: server gave HTTP response to HTTPS client';

interface HTTPResponse {
  readonly statusCode: number;
  /** Reads at most `OUTPUT_BYTES_MAX`. Rejects when the connection breaks or the signal aborts. */
  body(): Promise<string>;
  /** Closes the connection. */
  discard(): void;
}

/**
 * Follows redirects that stay on the first request's host. Rejects with DeadlineExceeded,
 * FailedPrecondition (the server does not speak HTTPS) or Unavailable.
 */
export async function httpGet(request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse> {
  const firstHost = new URL(requestURL(request)).hostname;
  let current = request;
  for (let sent = 1; ; sent += 1) {
    const response = await send(current, signal);
    const target = redirectTarget(response, current);
    if (target?.hostname !== firstHost) return responseOf(response, signal);
    response.destroy();
    if (sent === REQUESTS_MAX) throw unavailable(current, `stopped after ${REQUESTS_MAX} redirects`);
    current = redirected(current, target, response.headers.location ?? '');
  }
}

/** Whether the request failed because the server speaks HTTP only. */
export function isHTTPResponseError(error: unknown): boolean {
  return errorKind(error) === 'FailedPrecondition';
}

async function send(request: HTTPRequest, signal: AbortSignal): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const { scheme, host, port, path, hostHeader } = request;
  const headers = ['Host', hostHeader, ...request.headers.flatMap(({ name, value }) => [name, value])];
  const options = { host, port, path, headers, signal, agent: false } as const;
  try {
    const sent =
      scheme === 'http'
        ? httpRequest(options)
        : (await import('node:https')).request({
            ...options,
            rejectUnauthorized: false,
            servername: isIP(host) === 0 ? host : '',
          });
    return await answerTo(sent);
  } catch (error) {
    throw requestFailure(request, signal, error);
  }
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // After the response has begun, reading its body rejects with failures.
    request.once('response', resolve).on('error', reject).end();
  });
}

function requestFailure(request: HTTPRequest, signal: AbortSignal, error: unknown): unknown {
  if (!signal.aborted) return unavailable(request, failureText(request, error), error);
  if (errorKind(signal.reason) !== 'DeadlineExceeded') return signal.reason;
  const text = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  return new StateletError('DeadlineExceeded', getText(request, text), { cause: error });
}

function unavailable(request: HTTPRequest, text: string, cause?: unknown): StateletError {
  const kind = text === HTTP_RESPONSE ? 'FailedPrecondition' : 'Unavailable';
  return new StateletError(kind, getText(request, text), { cause });
}

function getText(request: HTTPRequest, text: string): string {
  return `Get "${requestURL(request)}": ${text}`;
}

function failureText(request: HTTPRequest, error: unknown): string {
  if (isDialFailure(error)) return dialFailure(request, error);
  const { code = '', syscall } = error as SystemError;
  if (errorMessage(error).includes(NOT_TLS)) return HTTP_RESPONSE;
  if (code.startsWith('HPE_')) return `malformed HTTP response: ${errorMessage(error)}`;
  if (code !== 'ECONNRESET') return errorMessage(error);
  return syscall === 'read' ? `read tcp ${hostPort(request)}: read: connection reset by peer` : 'EOF';
}

/** Undefined if the response is no redirect, or has no location. */
function redirectTarget(response: IncomingMessage, request: HTTPRequest): URL | undefined {
  const { statusCode = 0, headers } = response;
  const { location } = headers;
  if (!REDIRECTS.has(statusCode) || !location) return undefined;
  const base = requestURL(request);
  if (URL.canParse(location, base)) return new URL(location, base);
  response.destroy();
  throw unavailable(request, `failed to parse Location header "${location}"`);
}

/** The request's own `Host` stays if the server redirects to another path of the same host. */
function redirected(request: HTTPRequest, target: URL, location: string): HTTPRequest {
  const scheme = target.protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https')
    throw unavailable(request, `unsupported protocol scheme "${scheme}"`);
  const host = target.hostname.replace(/^\[|\]$/gu, '');
  const port = target.port === '' ? { http: 80, https: 443 }[scheme] : Number(target.port);
  const hostHeader = URL.canParse(location) ? hostPort({ host, port }) : request.hostHeader;
  return { ...request, scheme, host, port, path: `${target.pathname}${target.search}`, hostHeader };
}

function responseOf(response: IncomingMessage, signal: AbortSignal): HTTPResponse {
  // The connection may break while the body is not being read.
  response.on('error', () => undefined);
  return {
    statusCode: response.statusCode ?? 0,
    body: () =>
      readBody(response).catch((error: unknown) => {
        throw bodyFailure(signal, error);
      }),
    discard: () => void response.destroy(),
  };
}

function bodyFailure(signal: AbortSignal, cause: unknown): unknown {
  if (!signal.aborted) return new StateletError('Unavailable', 'unexpected EOF', { cause });
  if (errorKind(signal.reason) !== 'DeadlineExceeded') return signal.reason;
  const text = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
  return new StateletError('DeadlineExceeded', text, { cause });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const body = new BoundedOutput();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    body.add(chunk);
    if (body.isFull) break;
  }
  response.destroy();
  return body.toString();
}
