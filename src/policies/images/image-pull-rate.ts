/** The limit on image pulls: a bucket of `burst` tokens that is filled with `qps` tokens a second. Each pull takes one. */

export interface PullRate {
  /** 0: no limit. */
  readonly qps: number;
  readonly burst: number;
}

export interface TokenBucket {
  readonly tokens: number;
  /** When the bucket held these tokens, Unix milliseconds. */
  readonly at: number;
}

/** The bucket after a pull at `now`; undefined if it has no token for the pull. Without a bucket, a full one is used. */
export function takePullToken(
  bucket: TokenBucket | undefined,
  now: number,
  { qps, burst }: PullRate,
): TokenBucket | undefined {
  if (qps === 0) return { tokens: burst, at: now };
  const { tokens, at } = bucket ?? { tokens: burst, at: now };
  const filled = Math.min(burst, tokens + (Math.max(0, now - at) / 1000) * qps);
  return filled < 1 ? undefined : { tokens: filled - 1, at: now };
}
