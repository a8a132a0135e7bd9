/** Lets a request in or refuses it, with the kubelet's texts. */
import type { IncomingMessage } from 'node:http';
import { requestAttributes } from '../../policies/server/request-attributes.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { ServerUser } from '../../types/node-settings.ts';
import { RequestError } from '../routes/route.ts';
import type { Authorization } from './authorization.ts';

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
