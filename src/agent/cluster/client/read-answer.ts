/** Answers of the API server as values: objects, or errors. */
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { StateletError } from '../../../types/errors.ts';
import { ApiError } from '../service/api-error.ts';
import type { HttpAnswer } from './http-request.ts';

/** Of an answer that is no `metav1.Status`: that of a proxy, for example. */
const SHOWN_CHARACTERS = 200;
/** What a server of Go answers at a path that it does not have: that of a group of resources, for example. */
const GO_NOT_FOUND = '404 page not found';
/** A server that asks for a longer pause (Retry-After) is asked after this one: a node must get the changes of its pods. */
const RETRY_AFTER_MAX_MS = 5 * 60_000;
export const CUT = 'the connection was closed before the answer was complete';
/** Many times the list of all services of a large cluster, and less than the longest string of V8. */
const BODY_BYTES_MAX = 128 * 1024 * 1024;

/** `metav1.Status`, as far as it is used. */
interface Status {
  readonly kind?: unknown;
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly retryAfterSeconds?: unknown; readonly causes?: unknown } | null;
}

/** The reasons that go with status codes, for answers without one. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

/** The body, decompressed. */
export function bodyOf({ headers, body }: HttpAnswer): Readable {
  if (headers['content-encoding'] !== 'gzip') return body;
  const gunzip = createGunzip();
  body.once('error', (error) => gunzip.destroy(error));
  return body.pipe(gunzip);
}

/** The error for an answer so long that no API server sends it. */
export function tooLarge(what: string, bytesMax: number): StateletError {
  const problem = `${what} has more than ${bytesMax / (1024 * 1024)} MiB: is it the answer of an API server?`;
  return new StateletError('Unavailable', problem);
}

/** The whole body. Fails where the connection broke before its end, and where the body is too large. */
export function readBody(answer: HttpAnswer): Promise<string> {
  const body = bodyOf(answer);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let hasEnded = false;
  const cut = () => {
    // The error is made only where it is needed: to make one is slow, and nearly all bodies are whole.
    if (!hasEnded) reject(body.errored ?? new StateletError('Unavailable', CUT));
  };
  // Listeners, since an iterator over a stream costs more than a body that is one chunk.
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) {
      chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    body.destroy(tooLarge('the answer', BODY_BYTES_MAX));
    answer.body.destroy();
  });
  body.once('end', () => {
    hasEnded = true;
    resolve(Buffer.concat(chunks).toString('utf8'));
  });
  body.once('error', reject);
  body.once('close', cut);
  // A stream of HTTP/2 is closed once all of it has come, although it still has to be read: only one that is destroyed has no end.
  if (body.destroyed) cut();
  return promise;
}

/** The object in the text. A text that ends too early is no JSON. */
export function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // The error is thrown below.
  }
  const problem = `the answer is not a whole JSON object, but ${text.length} characters`;
  // A JSON object that was cut may be a Secret. What is no JSON at all comes from a proxy, for example, and says why.
  throw new StateletError('Unavailable', /^\s*[[{]/u.test(text) ? problem : `${problem}: ${shortened(text)}`);
}

/** What the server says in an answer that is no success. */
export function refusal(what: string, { status, headers }: HttpAnswer, text: string): ApiError {
  const refused = statusIn(text);
  const reason =
    typeof refused?.reason === 'string' && refused.reason !== '' ? refused.reason : reasonOf(status);
  const header = Array.isArray(headers['retry-after']) ? undefined : headers['retry-after'];
  const retryAfterMs = secondsIn(header) ?? secondsIn(refused?.details?.retryAfterSeconds);
  const message =
    typeof refused?.message === 'string' && refused.message !== ''
      ? refused.message
      : `${what}: the server answered ${status}${text === '' ? '' : `: ${shortened(text)}`}`;
  const causes = causesIn(refused?.details?.causes);
  return new ApiError(message, {
    status,
    reason,
    causes,
    retryAfterMs,
  });
}

function causesIn(causes: unknown): readonly string[] {
  if (!Array.isArray(causes)) return [];
  return causes
    .map((cause: { readonly reason?: unknown } | null) => cause?.reason)
    .filter((reason) => typeof reason === 'string');
}

/**
 * The error for a refusal that is not the API server's own: plain HTTP at a port for TLS, or the page of a proxy. Undefined for a refusal of
 * the API server, which is always a `metav1.Status`. A 404 of a proxy must not count as an object that does not exist.
 */
export function refusedAsHttp({ status }: HttpAnswer, text: string): StateletError | undefined {
  const isPage = status === 404 && text !== '' && !text.startsWith(GO_NOT_FOUND);
  if ((status !== 400 && !isPage) || statusIn(text) !== undefined) return undefined;
  const wanted = text.includes('to an HTTPS server')
    ? ' Its address in the kubeconfig should begin with https://'
    : '';
  return new StateletError('Unavailable', `the server answered ${status}: ${shortened(text)}${wanted}`);
}

/** The object of a watch event of type ERROR. */
export function watchError(what: string, object: unknown): ApiError {
  const { code, reason, message, details } = (object ?? {}) as Status;
  const status = typeof code === 'number' ? code : 500;
  const retryAfterMs = secondsIn(details?.retryAfterSeconds);
  return new ApiError(typeof message === 'string' ? message : `${what}: the server ended the watch`, {
    status,
    reason: typeof reason === 'string' && reason !== '' ? reason : reasonOf(status),
    retryAfterMs,
  });
}

function reasonOf(status: number): string {
  return REASONS[status] ?? (status >= 500 ? 'InternalError' : 'Unknown');
}

function statusIn(text: string): Status | undefined {
  try {
    const value = JSON.parse(text) as Status | null;
    return value?.kind === 'Status' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whole seconds as milliseconds, within what is granted. `Retry-After` with a date is not used by API servers. */
function secondsIn(value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const seconds = Number(value);
  if (!Number.isFinite(seconds) || seconds < 0) return undefined;
  return Math.min(seconds * 1000, RETRY_AFTER_MAX_MS);
}

function shortened(text: string): string {
  const line = text.slice(0, SHOWN_CHARACTERS).replaceAll(/\s+/gu, ' ').trim();
  return text.length > SHOWN_CHARACTERS ? `${line}…` : line;
}
