/** How many pulls a second: a bucket of `burst` tokens that fills at `qps` a second; each pull takes one. */

export interface PullRate {
  /** 0: no limit. */
  readonly qps: number;
  readonly burst: number;
}

export interface TokenBucket {
  readonly tokens: number;
  /** When that was so, Unix milliseconds. */
  readonly at: number;
}

/** The bucket after a pull at `now`; undefined where there is no token for it. The first bucket is a full one. */
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
