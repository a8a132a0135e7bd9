/** Who sends a request: by client certificate, bootstrap token or token of a service account. */
import type { IncomingHttpHeaders } from 'node:http';
import { MASTERS, type AnyObject, type Store, type User } from './context.ts';
import { unauthorized } from './status-error.ts';
import type { ServiceAccountTokens } from './tokens.ts';

const AUTHENTICATED = 'system:authenticated';
const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const BOOTSTRAP_TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** The members of a TLS socket that show the client. */
export interface PeerSocket {
  readonly authorized: boolean;
  /** A code. */
  readonly authorizationError?: unknown;
  getPeerCertificate(): unknown;
}

interface PeerCertificate {
  readonly subject?: { readonly CN?: string; readonly O?: string | string[] };
  readonly valid_to?: string;
}

const OTHER_TIME: ReadonlySet<string> = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED']);

export class Authentication {
  readonly #store: Store;
  readonly #tokens: ServiceAccountTokens;
  readonly #now: () => number;
  /** Of connections with a certificate. */
  readonly #users = new WeakMap<object, User>();

  constructor(store: Store, tokens: ServiceAccountTokens, now: () => number) {
    this.#store = store;
    this.#tokens = tokens;
    this.#now = now;
  }

  /** Throws the server's answer to credentials that it does not accept. */
  userOf(socket: PeerSocket, headers: IncomingHttpHeaders): User {
    const user = this.#ofCertificate(socket) ?? this.#ofHeader(headers.authorization) ?? ANONYMOUS;
    const impersonated = headers['impersonate-user'];
    if (typeof impersonated !== 'string') return user;
    // Only users who may do everything may impersonate: the rules for others are left out.
    if (!user.groups.includes(MASTERS)) throw unauthorized();
    const groups = headers['impersonate-group'];
    return { name: impersonated, groups: [groups ?? [], AUTHENTICATED].flat() };
  }

  #ofCertificate(socket: PeerSocket): User | undefined {
    const known = this.#users.get(socket);
    if (known !== undefined) return known;
    const certificate = socket.getPeerCertificate() as PeerCertificate | undefined;
    const { subject } = certificate ?? {};
    if (certificate === undefined || subject === undefined) return undefined;
    // The server's clock may differ from that of the machine, which TLS has used.
    const isTrusted = socket.authorized || OTHER_TIME.has(String(socket.authorizationError));
    const isValid = this.#now() <= Date.parse(certificate.valid_to ?? '');
    if (!isTrusted || !isValid || subject.CN === undefined) throw unauthorized();
    const user = { name: subject.CN, groups: [subject.O ?? [], AUTHENTICATED].flat() };
    this.#users.set(socket, user);
    return user;
  }

  #ofHeader(header: string | undefined): User | undefined {
    const token = /^bearer (.+)$/i.exec(header ?? '')?.[1]?.trim();
    if (token === undefined) return undefined;
    const user = this.#ofBootstrapToken(token) ?? this.#tokens.review(token)?.user;
    if (user === undefined) throw unauthorized();
    return user;
  }

  #ofBootstrapToken(token: string): User | undefined {
    const [, id, secret] = BOOTSTRAP_TOKEN.exec(token) ?? [];
    if (id === undefined) return undefined;
    const place = { namespace: 'kube-system', name: `bootstrap-token-${id}` };
    const found = this.#store.get('secrets', place) as AnyObject | undefined;
    if (found?.type !== 'bootstrap.kubernetes.io/token') return undefined;
    const field = (name: string) => Buffer.from(String(found.data?.[name] ?? ''), 'base64').toString();
    const isOver = field('expiration') !== '' && Date.parse(field('expiration')) <= this.#now();
    if (field('token-secret') !== secret || field('usage-bootstrap-authentication') !== 'true' || isOver)
      return undefined;
    const more = field('auth-extra-groups').split(',').filter(Boolean);
    return { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...more, AUTHENTICATED] };
  }
}
