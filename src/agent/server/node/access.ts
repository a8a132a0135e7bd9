/** Lets a request in or refuses it, with the kubelet's texts. */
import type { IncomingMessage } from 'node:http';
import { requestAttributes, type RequestAttributes } from '../../policies/server/request-attributes.ts';
import type { Clock } from '../../../types/clock.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import type { ServerUser } from '../../../types/node-settings.ts';
import { RequestError } from '../routes/route.ts';
import { ReviewCache } from './review-cache.ts';

export interface AccessOptions {
  readonly nodeName: string;
  readonly authentication: { userOf(request: IncomingMessage): Promise<ServerUser | undefined> };
  readonly authorization: Authorization;
  readonly logger: Logger;
}

export class Access {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Rejects with a `RequestError` for a request that is refused. */
  async check(request: IncomingMessage, path: string): Promise<void> {
    const user = await this.#userOf(request);
    const asked = requestAttributes(request.method ?? '', path, this.#options.nodeName);
    for (const attributes of asked) {
      try {
        if (await this.#options.authorization.isAllowed(user, attributes)) return;
      } catch (error) {
        const { verb, resource, subresource } = attributes;
        const whom = `user=${user.name}, verb=${verb}, resource=${resource}, subresource=${subresource}`;
        this.#options.logger.warn({ problem: errorMessage(error), path }, `Authorization error (${whom})`);
        throw new RequestError(500, `Authorization error (${whom})`);
      }
    }
    const { verb, resource } = asked[0] ?? { verb: '', resource: 'nodes' };
    const subresources = asked.map(({ subresource }) => subresource).join(' ');
    throw new RequestError(
      403,
      `Forbidden (user=${user.name}, verb=${verb}, resource=${resource}, subresource(s)=[${subresources}])\n`,
    );
  }

  async #userOf(request: IncomingMessage): Promise<ServerUser> {
    const { authentication, logger } = this.#options;
    const user = await authentication.userOf(request).catch((error: unknown) => {
      const from = request.socket.remoteAddress;
      logger.debug({ problem: errorMessage(error), from }, 'A request to the node is not authenticated');
      return undefined;
    });
    if (user === undefined) throw new RequestError(401, 'Unauthorized');
    return user;
  }
}

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

/** The key of an answer in the cache is the whole question. Longer questions are asked each time, so that the cache stays small. */
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

/** `AlwaysAllow`: every authenticated user may do everything. */
export const ALWAYS_ALLOW: Authorization = { isAllowed: () => Promise.resolve(true) };

/** Without a cluster there is no API server to ask. */
export const NEVER_ALLOW: Authorization = { isAllowed: () => Promise.resolve(false) };
