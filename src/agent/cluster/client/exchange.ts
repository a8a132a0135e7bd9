/** Requests and their answers, with time limits, and with the waits that the server asks for. */
import { filledBucket, type RateLimit, type TokenBucket } from '../../policies/formats/token-bucket.ts';
import { clockDifferenceMs } from '../../policies/node/lease-renewal.ts';
import { sleep, Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { ApiMeasurements } from '../../../types/measurements.ts';
import { ApiError } from '../service/api-error.ts';
import type { ConnectionObserver, Credentials, RequestOptions } from '../service/api-server.ts';
import type { ConnectionPool, PooledAnswer } from './connection-pool.ts';
import type { HttpRequest } from './http-request.ts';
import { isSuccess, parseObject, readBody, refusal, refusedAsHttp } from './read-answer.ts';

const JSON_TYPE = 'application/json';
/** How often the server may answer one request with "ask again later" (Retry-After). */
const POSTPONEMENTS_MAX = 10;
/** How long the head of a stream may take: a server sends it before the first event. */
const STREAM_HEAD_MAX_MS = 30_000;

export interface ExchangeOptions {
  readonly pool: ConnectionPool;
  readonly credentials: Credentials;
  readonly observer: ConnectionObserver;
  /** Undefined: no limit. Streams are not limited. */
  readonly queue: TokenQueue | undefined;
  readonly userAgent: string;
  /** For requests without a time limit of their own. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly measurements?: ApiMeasurements;
}

export interface Call {
  readonly method: HttpRequest['method'];
  /** With the query. */
  readonly path: string;
  readonly body?: object;
  /** Default: JSON. */
  readonly contentType?: string;
}

/** The time that a request may take. Its signal aborts when the time is over, or when the request is not wanted any more. */
interface Limit {
  readonly signal: AbortSignal;
  /** Unix ms. */
  endsAt: number;
  /** From now on. */
  set(timeoutMs: number): void;
}

export class Exchange {
  readonly #options: ExchangeOptions;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** The object that the server answers. */
  async send<T>(call: Call, options: RequestOptions = {}): Promise<T> {
    const { signal, timeoutMs, isOnlyForNow = false } = options;
    return this.#limited(call, signal, async (limit) => {
      await this.#options.queue?.take(limit.signal);
      limit.set(timeoutMs ?? this.#options.requestTimeoutMs);
      const answer = await this.#answer(call, limit, isOnlyForNow ? 0 : POSTPONEMENTS_MAX);
      const object = parseObject(await readBody(answer)) as T;
      this.#options.observer.answered();
      return object;
    });
  }

  /** Opens a stream, and resolves when `read` has read it. `timeoutMs` begins with the head of the answer. */
  async stream(
    call: Call,
    { signal, timeoutMs }: Required<Pick<RequestOptions, 'signal' | 'timeoutMs'>>,
    read: (answer: PooledAnswer) => Promise<void>,
  ): Promise<void> {
    return this.#limited(call, signal, async (limit) => {
      limit.set(Math.min(this.#options.requestTimeoutMs, STREAM_HEAD_MAX_MS));
      const answer = await this.#answer(call, limit);
      this.#options.observer.answered();
      limit.set(timeoutMs);
      await read(answer);
    });
  }

  /** Reports a failure to the observer, and throws it as a `StateletError`. */
  async #limited<T>(
    call: Call,
    signal: AbortSignal | undefined,
    work: (limit: Limit) => Promise<T>,
  ): Promise<T> {
    const { clock, observer } = this.#options;
    const what = nameOf(call);
    const stop = new AbortController();
    const timer = new Timer(clock);
    const limit: Limit = {
      signal: stop.signal,
      endsAt: Infinity,
      set: (timeoutMs) => {
        limit.endsAt = clock.now() + timeoutMs;
        const problem = `no whole answer in ${timeoutMs / 1000} s`;
        timer.arm(timeoutMs, () => stop.abort(new StateletError('DeadlineExceeded', problem)));
      },
    };
    const cancel = () => stop.abort(new StateletError('Canceled', 'the caller does not want it any more'));
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted === true) cancel();
    try {
      return await work(limit);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      // The error of a request that was aborted may be anything: the reason of the abort is what counts.
      const ended = [stop.signal, this.#options.pool.closed].find(({ aborted }) => aborted);
      const failure = failureOf(what, ended === undefined ? error : ended.reason);
      if (failure.kind !== 'Canceled') observer.failed(failure.message);
      throw failure;
    } finally {
      timer.disarm();
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** An answer that is a success. Waits and asks again where the server wants that. */
  async #answer(call: Call, limit: Limit, postponementsMax = POSTPONEMENTS_MAX): Promise<PooledAnswer> {
    const { clock } = this.#options;
    const request = this.#requestOf(call);
    for (let postponements = 0; ; postponements += 1) {
      const answer = await this.#measured(request, limit.signal);
      if (isSuccess(answer)) return answer;
      const text = await readBody(answer);
      const unheard = refusedAsHttp(answer, text);
      if (unheard !== undefined) throw unheard;
      const error = refusal(nameOf(call), answer, text);
      this.#report(error);
      const waitMs = postponedByMs(error);
      const isTooLate = waitMs === undefined || clock.now() + waitMs >= limit.endsAt;
      if (isTooLate || postponements >= postponementsMax) throw error;
      await sleep(clock, waitMs, limit.signal);
    }
  }

  /** Until the head of the answer has come. */
  async #measured(request: HttpRequest, signal: AbortSignal): Promise<PooledAnswer> {
    const { pool, measurements, observer, clock } = this.#options;
    const end = measurements?.apiRequest(request.method);
    const askedMs = clock.now();
    try {
      const answer = await pool.request(request, signal);
      end?.(pool.host, answer.status);
      const { date } = answer.headers;
      observer.clockDifference?.(clockDifferenceMs({ askedMs, gotMs: clock.now(), date }));
      return answer;
    } catch (error) {
      end?.(pool.host);
      throw error;
    }
  }

  #report(error: ApiError): void {
    const { observer, credentials } = this.#options;
    if (error.status === 401) {
      credentials.refused();
      observer.unauthorized(error.message);
    } else {
      observer.answered();
    }
  }

  #requestOf({ method, path, body, contentType = JSON_TYPE }: Call): HttpRequest {
    const headers = {
      accept: JSON_TYPE,
      'accept-encoding': 'gzip',
      'user-agent': this.#options.userAgent,
      ...(body && { 'content-type': contentType }),
    };
    return { method, path, headers, ...(body && { body: Buffer.from(JSON.stringify(body)) }) };
  }
}

/** The pause that the server asks for before the next try. Undefined: its answer is final. */
function postponedByMs({ status, retryAfterMs, causes }: ApiError): number | undefined {
  // A server that was restored from a backup may never reach that version: the caller must ask for another one.
  if (causes.includes('ResourceVersionTooLarge')) return undefined;
  return status === 429 || status >= 500 ? retryAfterMs : undefined;
}

/** `GET /api/v1/nodes/node-1`. */
export function nameOf({ method, path }: Call): string {
  return `${method} ${path}`;
}

function failureOf(what: string, error: unknown): StateletError {
  const kind = error instanceof StateletError ? error.kind : 'Unavailable';
  return new StateletError(kind, `${what}: ${messageOf(error)}`, { cause: error });
}

/** Where a name has several addresses, each has an error of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map((each) => errorMessage(each)).join(', ');
  return errorMessage(error);
}

/** Each caller gets a token, in the order in which they came. */
export class TokenQueue {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  #bucket: TokenBucket;

  constructor(clock: Clock, limit: RateLimit) {
    this.#clock = clock;
    this.#limit = limit;
    this.#bucket = { tokens: limit.burst, at: clock.now() };
  }

  /** Resolves when the caller has its token. A caller whose signal aborts gives its token back. */
  async take(signal: AbortSignal): Promise<void> {
    const filled = filledBucket(this.#bucket, this.#clock.now(), this.#limit);
    const tokens = filled.tokens - 1;
    this.#bucket = { ...filled, tokens };
    if (tokens >= 0) return;
    try {
      await sleep(this.#clock, (-tokens / this.#limit.perSecond) * 1000, signal);
    } catch (error) {
      this.#bucket = { ...this.#bucket, tokens: this.#bucket.tokens + 1 };
      throw error;
    }
  }
}
