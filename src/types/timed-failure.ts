/** What an actor hears of a request that has failed. */
export interface TimedFailure {
  readonly problem: string;
  /** Unix ms. */
  readonly now: number;
}
