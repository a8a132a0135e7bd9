/** Lets a request in or refuses it, with the kubelet's texts. */
import type { IncomingMessage } from 'node:http';
import { requestAttributes, type RequestAttributes } from '../../policies/server/request-attributes.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ServerUser } from '../../../types/node-settings.ts';
import { RequestError } from '../routes/route.ts';
import { ReviewCache } from './review-cache.ts';

export interface AccessParts {
  readonly nodeOf: (request: IncomingMessage) => string;
  readonly authentication: { userOf(request: IncomingMessage): Promise<ServerUser | undefined> };
  readonly authorization: Authorization;
}

export class Access {
  readonly #context: AgentContext;
  readonly #parts: AccessParts;

  constructor(context: AgentContext, parts: AccessParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Rejects with a `RequestError` for a request that is refused. */
  async check(request: IncomingMessage, path: string): Promise<void> {
    const user = await this.#userOf(request);
    const asked = requestAttributes(request.method ?? '', path, this.#parts.nodeOf(request));
    for (const attributes of asked) {
      try {
        if (await this.#parts.authorization.isAllowed(user, attributes)) return;
      } catch (error) {
        const { verb, resource, subresource } = attributes;
        const whom = `user=${user.name}, verb=${verb}, resource=${resource}, subresource=${subresource}`;
        this.#context.logger.warn({ problem: errorMessage(error), path }, `Authorization error (${whom})`);
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
    const { logger } = this.#context;
    const user = await this.#parts.authentication.userOf(request).catch((error: unknown) => {
      const from = request.socket.remoteAddress;
      logger.debug({ problem: errorMessage(error), from }, 'A request to the node is not authenticated');
      return undefined;
    });
    if (user === undefined) throw new RequestError(401, 'Unauthorized');
    return user;
  }
}

export interface AuthorizationParts {
  /** Asks the API server. */
  readonly reviewAccess: (user: ServerUser, attributes: RequestAttributes) => Promise<boolean>;
  readonly authorizedTTLMs: number;
  readonly unauthorizedTTLMs: number;
}

/** Whether a user may do something. Rejects where that cannot be found out. */
export interface Authorization {
  isAllowed(user: ServerUser, attributes: RequestAttributes): Promise<boolean>;
}

/** The key of an answer in the cache is the whole question. Longer questions are asked each time, so that the cache stays small. */
const KEY_LENGTH_MAX = 10_000;

export class WebhookAuthorization implements Authorization {
  readonly #parts: AuthorizationParts;
  readonly #answers: ReviewCache<boolean>;

  constructor(context: AgentContext, parts: AuthorizationParts) {
    this.#parts = parts;
    const { authorizedTTLMs, unauthorizedTTLMs } = parts;
    this.#answers = new ReviewCache(context, (isAllowed) =>
      isAllowed ? authorizedTTLMs : unauthorizedTTLMs,
    );
  }

  isAllowed(user: ServerUser, attributes: RequestAttributes): Promise<boolean> {
    const ask = () => this.#parts.reviewAccess(user, attributes);
    const key = JSON.stringify([user, attributes]);
    return key.length > KEY_LENGTH_MAX ? ask() : this.#answers.get(key, ask);
  }
}

/** `AlwaysAllow`: every authenticated user may do everything. */
export const ALWAYS_ALLOW: Authorization = { isAllowed: () => Promise.resolve(true) };

/** Without a cluster there is no API server to ask. */
export const NEVER_ALLOW: Authorization = { isAllowed: () => Promise.resolve(false) };
