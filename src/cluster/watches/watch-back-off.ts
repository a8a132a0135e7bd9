import { ApiError } from '../service/api-error.ts';

const FIRST_MS = 800;
const LIMIT_MS = 30_000;
/** After this time without a failure the next one counts as the first. */
const QUIET_MS = 120_000;

export interface WatchBackOffOptions {
  readonly now: () => number;
  /** From 0 up to, but not including, 1. */
  readonly random: () => number;
}

/** How long to wait after a failed list or watch: 0.8 s, doubled up to 30 s, and up to twice that by chance, as the kubelet waits. */
export class WatchBackOff {
  readonly #options: WatchBackOffOptions;
  #nextMs = FIRST_MS;
  #lastFailureAt = -Infinity;

  constructor(options: WatchBackOffOptions) {
    this.#options = options;
  }

  /** The delay before the next try. A server that asks for a longer one by `Retry-After` gets it, up to five minutes. */
  delayAfter(error: unknown): number {
    const { now, random } = this.#options;
    if (now() - this.#lastFailureAt > QUIET_MS) this.#nextMs = FIRST_MS;
    this.#lastFailureAt = now();
    const delayMs = this.#nextMs * (1 + random());
    this.#nextMs = Math.min(LIMIT_MS, this.#nextMs * 2);
    return Math.max(delayMs, retryAfterMs(error));
  }
}

function retryAfterMs(error: unknown): number {
  return (error instanceof ApiError ? error.retryAfterMs : undefined) ?? 0;
}
