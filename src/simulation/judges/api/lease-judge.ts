/** The lease of the node is renewed in time, whatever its pods do, as long as the API server answers. */

/** After this time the node counts as lost. */
const LEASE_DURATION_MS = 40_000;

export interface LeaseJudgeOptions {
  readonly now: () => number;
  readonly violated: (what: string) => void;
}

export class LeaseJudge {
  readonly #options: LeaseJudgeOptions;
  /** Since then it must be renewed in time: the last renewal, or the last reason for a delay. */
  #since: number | undefined;

  constructor(options: LeaseJudgeOptions) {
    this.#options = options;
  }

  renewed(): void {
    const overdueMs = this.overdueMs;
    if (overdueMs > 0) this.#options.violated(`the lease is renewed ${String(overdueMs / 1000)} s too late`);
    this.#since = this.#options.now();
  }

  /** A request for the lease failed, or could not be sent. */
  delayed(): void {
    if (this.#since !== undefined) this.#since = this.#options.now();
  }

  /** There is no agent that would renew it. */
  abandoned(): void {
    this.#since = undefined;
  }

  /** How much too late the next renewal is by now. */
  get overdueMs(): number {
    const since = this.#since ?? Infinity;
    return Math.max(0, this.#options.now() - since - LEASE_DURATION_MS);
  }
}
