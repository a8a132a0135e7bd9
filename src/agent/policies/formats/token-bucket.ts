/** Limits how often something is done: a bucket is filled with so many tokens a second, up to a burst, and each time takes one. */
export interface RateLimit {
  readonly perSecond: number;
  /** So many at once after a pause. */
  readonly burst: number;
}

export interface TokenBucket {
  /** Below zero: so many are promised to those that wait. */
  readonly tokens: number;
  /** When the bucket held these tokens, Unix milliseconds. */
  readonly at: number;
}

/** Without a bucket, a full one. A clock that was set back adds nothing. */
export function filledBucket(
  bucket: TokenBucket | undefined,
  now: number,
  { perSecond, burst }: RateLimit,
): TokenBucket {
  const { tokens, at } = bucket ?? { tokens: burst, at: now };
  return { tokens: Math.min(burst, tokens + (Math.max(0, now - at) / 1000) * perSecond), at: now };
}

/** The bucket without the token that was taken; undefined where it has none. */
export function takeToken(
  bucket: TokenBucket | undefined,
  now: number,
  limit: RateLimit,
): TokenBucket | undefined {
  const { tokens } = filledBucket(bucket, now, limit);
  return tokens < 1 ? undefined : { tokens: tokens - 1, at: now };
}
