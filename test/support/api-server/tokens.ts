/** Tokens of service accounts: signed by the server's key, bound to objects, and reviewed. */
import { createPrivateKey, createPublicKey, randomUUID, sign, verify } from 'node:crypto';
import { ACCOUNT_USER, type AnyObject, type Store, type User } from './context.ts';

export const ISSUER = 'https://kubernetes.default.svc';
/** Tokens for the server itself that ask for this many seconds are valid for a year, so that old clients go on working. */
const EXTENDED_SECONDS = 3607;
const YEAR_SECONDS = 365 * 24 * 3600;
const HEADER = { alg: 'ES256', kid: 'double' };

interface BoundObject {
  readonly name: string;
  readonly uid: string;
}

interface Claims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly nbf: number;
  readonly iss: string;
  readonly jti: string;
  readonly sub: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: BoundObject;
    readonly pod?: BoundObject;
    readonly secret?: BoundObject;
    readonly node?: { readonly name: string; readonly uid?: string };
    readonly warnafter?: number;
  };
}

export interface TokenWish {
  readonly audiences: readonly string[];
  readonly seconds: number;
  readonly account: AnyObject;
  readonly pod?: AnyObject | undefined;
  readonly secret?: AnyObject | undefined;
}

export interface TokenDetails {
  readonly user: User;
  readonly audiences: readonly string[];
}

export class ServiceAccountTokens {
  readonly #key: ReturnType<typeof createPrivateKey>;
  readonly #publicKey: ReturnType<typeof createPublicKey>;
  readonly #store: Store;
  readonly #now: () => number;

  /** `key`: of the curve P-256, in PEM. */
  constructor(key: string, store: Store, now: () => number) {
    this.#key = createPrivateKey(key);
    this.#publicKey = createPublicKey(this.#key);
    this.#store = store;
    this.#now = now;
  }

  issue({ audiences, seconds, account, pod, secret }: TokenWish): { token: string; expiresAtMs: number } {
    const { namespace = '', name, uid } = account.metadata;
    const iat = Math.floor(this.#now() / 1000);
    const isExtended = seconds === EXTENDED_SECONDS && audiences.every((audience) => audience === ISSUER);
    const nodeName = pod?.spec.nodeName as string | undefined;
    const node = nodeName === undefined ? undefined : this.#store.get('nodes', { name: nodeName });
    const claims: Claims = {
      aud: audiences,
      exp: iat + (isExtended ? YEAR_SECONDS : seconds),
      iat,
      iss: ISSUER,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace,
        ...(nodeName !== undefined && { node: { name: nodeName, ...(node && { uid: node.metadata.uid }) } }),
        ...(pod && { pod: { name: pod.metadata.name, uid: pod.metadata.uid } }),
        ...(secret && { secret: { name: secret.metadata.name, uid: secret.metadata.uid } }),
        serviceaccount: { name, uid },
        ...(isExtended && { warnafter: iat + seconds }),
      },
      nbf: iat,
      sub: `${ACCOUNT_USER}${namespace}:${name}`,
    };
    const signed = `${encoded(HEADER)}.${encoded(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: this.#key, dsaEncoding: 'ieee-p1363' });
    return { token: `${signed}.${signature.toString('base64url')}`, expiresAtMs: (iat + seconds) * 1000 };
  }

  /** The user of the token; undefined for a token of another issuer, one that has expired, and one whose objects are gone. */
  review(token: string, wanted: readonly string[] = [ISSUER]): TokenDetails | undefined {
    const claims = this.#verified(token);
    if (claims === undefined) return undefined;
    const audiences = wanted.filter((audience) => claims.aud.includes(audience));
    const nowSeconds = this.#now() / 1000;
    if (audiences.length === 0 || claims.exp <= nowSeconds || claims.nbf > nowSeconds + 1) return undefined;
    const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io'];
    const isThere = (resource: string, object: BoundObject | undefined) =>
      object === undefined ||
      this.#store.get(resource, { namespace, name: object.name })?.metadata.uid === object.uid;
    if (!isThere('serviceaccounts', serviceaccount) || !isThere('pods', pod) || !isThere('secrets', secret))
      return undefined;
    const extra: Record<string, readonly string[]> = {
      'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`],
    };
    if (node !== undefined) {
      extra['authentication.kubernetes.io/node-name'] = [node.name];
      if (node.uid !== undefined) extra['authentication.kubernetes.io/node-uid'] = [node.uid];
    }
    if (pod !== undefined) {
      extra['authentication.kubernetes.io/pod-name'] = [pod.name];
      extra['authentication.kubernetes.io/pod-uid'] = [pod.uid];
    }
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
    return { user: { name: claims.sub, uid: serviceaccount.uid, groups, extra }, audiences };
  }

  #verified(token: string): Claims | undefined {
    const [header = '', claims = '', signature = '', ...more] = token.split('.');
    if (more.length > 0 || header !== encoded(HEADER)) return undefined;
    const bytes = Buffer.from(signature, 'base64url');
    // Another spelling of the same bytes is another token.
    if (bytes.toString('base64url') !== signature) return undefined;
    const key = { key: this.#publicKey, dsaEncoding: 'ieee-p1363' as const };
    if (!verify('sha256', Buffer.from(`${header}.${claims}`), key, bytes)) return undefined;
    return JSON.parse(Buffer.from(claims, 'base64url').toString()) as Claims;
  }
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
