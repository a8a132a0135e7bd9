/** Finds out who sends a request, as the kubelet does: by client certificate, then by bearer token, else as anonymous where that is allowed. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { bearerToken, type FoundToken } from '../../policies/server/request-attributes.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ServerUser } from '../../../types/node-settings.ts';
import { ReviewCache } from './review-cache.ts';

export interface AuthenticationParts {
  readonly anonymous: boolean;
  /** Asks the API server whose a token is. Without it no token is accepted. */
  readonly reviewToken?: (token: string) => Promise<ServerUser | undefined>;
  readonly tokenTTLMs: number;
}

const AUTHENTICATED = 'system:authenticated';
const ANONYMOUS: ServerUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
/** No cluster issues a token of this length. The API server is not asked about longer ones. */
const TOKEN_LENGTH_MAX = 64 * 1024;

export class Authentication {
  readonly #parts: AuthenticationParts;
  readonly #tokens: ReviewCache<ServerUser | undefined>;

  constructor(context: AgentContext, parts: AuthenticationParts) {
    this.#parts = parts;
    this.#tokens = new ReviewCache(context, () => parts.tokenTTLMs);
  }

  /**
   * The user to whom the credentials of the request belong; without credentials the anonymous user, or undefined where that is not
   * allowed. Rejects if there are credentials and none is valid. A token that is accepted is removed from the request, since no handler
   * needs it.
   */
  async userOf(request: IncomingMessage): Promise<ServerUser | undefined> {
    const problems: unknown[] = [];
    for (const find of [() => certificateUser(request), () => this.#tokenUser(request)]) {
      try {
        const user = await find();
        if (user !== undefined) return withGroup(user);
      } catch (error) {
        problems.push(error);
      }
    }
    if (problems.length > 0) throw problems[0];
    return this.#parts.anonymous ? ANONYMOUS : undefined;
  }

  async #tokenUser(request: IncomingMessage): Promise<ServerUser | undefined> {
    const { reviewToken } = this.#parts;
    if (reviewToken === undefined) return undefined;
    const found = bearerToken(request.headers);
    if (found === undefined) return undefined;
    const { token } = found;
    if (token.length > TOKEN_LENGTH_MAX) throw new Error('the bearer token is too long');
    const key = createHash('sha256').update(token).digest('base64');
    const user = await this.#tokens.get(key, () => reviewToken(token));
    if (user === undefined) throw new Error('the API server does not know the bearer token');
    dropToken(request, found);
    return user;
  }
}

/** As the kubelet: the common name is the user, and the organizations are the groups. */
function certificateUser({ socket }: IncomingMessage): ServerUser | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  if (!socket.authorized)
    throw new Error(`the client certificate is not accepted: ${String(socket.authorizationError)}`);
  const { subject } = certificate.toLegacyObject() as unknown as {
    readonly subject?: Readonly<Record<string, string | readonly string[] | undefined>>;
  };
  const name = [subject?.CN ?? ''].flat().at(-1) ?? '';
  if (name === '') return undefined;
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  return {
    name,
    groups: [subject?.O ?? []].flat(),
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
  };
}

/** As with the kubelet, every authenticated user is a member of this group. */
function withGroup(user: ServerUser): ServerUser {
  if (user.groups.includes(AUTHENTICATED)) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}

const PROTOCOL = 'sec-websocket-protocol';

function dropToken(request: IncomingMessage, { otherProtocols }: FoundToken): void {
  const name: keyof IncomingHttpHeaders = otherProtocols === undefined ? 'authorization' : PROTOCOL;
  const headers = Object.entries(request.headers).filter(([given]) => given !== name);
  request.headers = {
    ...Object.fromEntries(headers),
    ...(otherProtocols !== undefined && { [PROTOCOL]: otherProtocols }),
  };
  const raw = request.rawHeaders;
  request.rawHeaders = raw.flatMap((text, index) => {
    if (index % 2 === 1 || text.toLowerCase() === name) return [];
    return [text, raw[index + 1] ?? ''];
  });
  if (otherProtocols !== undefined) request.rawHeaders.push('Sec-WebSocket-Protocol', otherProtocols);
}
