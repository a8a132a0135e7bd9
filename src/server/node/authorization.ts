import type { RequestAttributes } from '../../policies/server/request-attributes.ts';
import type { Clock } from '../../types/clock.ts';
import type { ServerUser } from '../../types/node-settings.ts';
import { ReviewCache } from './review-cache.ts';

export interface AuthorizationOptions {
  /** Asks the API server. */
  readonly reviewAccess: (user: ServerUser, attributes: RequestAttributes) => Promise<boolean>;
  readonly authorizedTTLMs: number;
  readonly unauthorizedTTLMs: number;
  readonly clock: Clock;
}

/** Whether a user may do something. Rejects where that cannot be found out. */
export interface Authorization {
  isAllowed(user: ServerUser, attributes: RequestAttributes): Promise<boolean>;
}

/** A question is its own key in the cache; longer ones are asked each time, so that the cache stays small. */
const KEY_LENGTH_MAX = 10_000;

export class WebhookAuthorization implements Authorization {
  readonly #options: AuthorizationOptions;
  readonly #answers: ReviewCache<boolean>;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    const { clock, authorizedTTLMs, unauthorizedTTLMs } = options;
    this.#answers = new ReviewCache({
      clock,
      ttlMs: (isAllowed) => (isAllowed ? authorizedTTLMs : unauthorizedTTLMs),
    });
  }

  isAllowed(user: ServerUser, attributes: RequestAttributes): Promise<boolean> {
    const ask = () => this.#options.reviewAccess(user, attributes);
    const key = JSON.stringify([user, attributes]);
    return key.length > KEY_LENGTH_MAX ? ask() : this.#answers.get(key, ask);
  }
}

/** `AlwaysAllow`: who is known may do everything. */
export const ALWAYS_ALLOW: Authorization = { isAllowed: () => Promise.resolve(true) };
/** Outside a cluster there is nobody to ask. */
export const NEVER_ALLOW: Authorization = { isAllowed: () => Promise.resolve(false) };
