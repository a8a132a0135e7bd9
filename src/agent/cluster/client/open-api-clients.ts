/** Clients of a real API server. */
import { systemClock } from '../../../system/timer.ts';
import type { RateLimit } from '../../policies/formats/token-bucket.ts';
import type { Clock } from '../../../types/clock.ts';
import type { ApiMeasurements } from '../../../types/measurements.ts';
import type {
  ApiClients,
  ApiDiscovery,
  ApiServer,
  ConnectionObserver,
  Credentials,
} from '../service/api-server.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Exchange, TokenQueue } from './exchange.ts';
import { HttpApiServer } from './http-api-server.ts';

/** As client-go: a peer is pinged after 30 s of silence, and dead 15 s later. */
const PING_AFTER_MS = 30_000;
const PING_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 30_000;
/** Longer than the 60 s after which an API server itself gives up. */
const REQUEST_TIMEOUT_MS = 70_000;

export interface ApiClientsOptions {
  /** `statelet/0.2.0 (linux/amd64)`. */
  readonly userAgent: string;
  /** Undefined, or 0 a second: no limit. */
  readonly mainLimit?: RateLimit;
  readonly eventsLimit?: RateLimit;
  readonly clock?: Clock;
  readonly measurements?: ApiMeasurements;
  /** For HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly connectTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly pingAfterMs?: number;
  readonly pingTimeoutMs?: number;
}

/** Nothing is opened before the first request. `close` breaks all connections. */
export function openApiClients(
  credentials: Credentials,
  observer: ConnectionObserver,
  options: ApiClientsOptions,
): ApiClients & { readonly main: ApiServer & ApiDiscovery; readonly close: () => void } {
  const { clock = systemClock, userAgent, requestTimeoutMs = REQUEST_TIMEOUT_MS, measurements } = options;
  const openPool = () =>
    new ConnectionPool({
      credentials,
      env: options.env ?? process.env,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      pingAfterMs: options.pingAfterMs ?? PING_AFTER_MS,
      pingTimeoutMs: options.pingTimeoutMs ?? PING_TIMEOUT_MS,
    });
  const [shared, own] = [openPool(), openPool()];
  const client = (pool: ConnectionPool, limit?: RateLimit) => {
    const queue = limit && limit.perSecond > 0 ? new TokenQueue(clock, limit) : undefined;
    const exchange = {
      pool,
      credentials,
      observer,
      queue,
      userAgent,
      requestTimeoutMs,
      clock,
      measurements,
    };
    return new HttpApiServer(new Exchange(exchange));
  };
  return {
    main: client(shared, options.mainLimit),
    events: client(shared, options.eventsLimit),
    heartbeats: client(own),
    close: () => {
      shared.close();
      own.close();
    },
  };
}
