/** The facts that an actor gets about a failed request. */
export interface TimedFailure {
  readonly problem: string;
  /** Unix ms. */
  readonly now: number;
}
