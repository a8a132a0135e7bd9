/** Which tokens of service accounts are kept, and when one is asked for anew. */
import type { TokenRequest } from '../../../types/kubernetes.ts';

/** No token is used for longer, however long it is valid. */
const MAX_AGE_MS = 24 * 3600 * 1000;

export function needsRefresh(token: TokenRequest, now: number, jitterSeconds: number): boolean {
  const due = refreshDueAt(token, jitterSeconds);
  return due !== undefined && now > due;
}

/**
 * After which moment (Unix ms) the token is asked for anew: in the last fifth of its life, and after a day. Undefined: never.
 * `jitterSeconds`: 0 to 9, so that not all nodes ask at the same time.
 */
export function refreshDueAt({ spec, status }: TokenRequest, jitterSeconds: number): number | undefined {
  const { expirationSeconds } = spec;
  if (expirationSeconds == null) return undefined;
  const expires = expirationOf(status);
  const issued = expires - expirationSeconds * 1000;
  const lastFifthMs = Math.trunc((expirationSeconds * 20) / 100) * 1000;
  return Math.min(issued + MAX_AGE_MS, expires - lastFifthMs) - jitterSeconds * 1000;
}

export function isExpired({ status }: TokenRequest, now: number): boolean {
  return now > expirationOf(status);
}

function expirationOf(status: TokenRequest['status']): number {
  return Date.parse(status?.expirationTimestamp ?? '');
}

/** The service account whose token it is. */
export interface TokenOwner {
  readonly namespace: string;
  readonly name: string;
}

/** Requests with the same key can use the same token. */
export function tokenKey({ namespace, name }: TokenOwner, { metadata, spec }: TokenRequest): string {
  const { audiences, expirationSeconds, boundObjectRef: bound } = spec;
  const boundTo = [bound?.apiVersion, bound?.kind, bound?.name, bound?.uid].map((field) => field ?? '');
  return JSON.stringify([
    name,
    namespace,
    audiences ?? [],
    expirationSeconds ?? 0,
    boundTo,
    metadata?.uid ?? '',
  ]);
}

export interface KeptToken {
  /** The answer of the API server. */
  readonly answer: TokenRequest;
  /** How much earlier than others it is asked for anew. */
  readonly jitterSeconds: number;
  /** By how much the clock of this machine was ahead of the server's when it was issued; negative: behind. */
  readonly clockAheadMs: number;
}

/** Tokens by what was asked for. */
export class TokenCache {
  readonly #tokens = new Map<string, KeptToken>();

  get size(): number {
    return this.#tokens.size;
  }

  get(key: string): KeptToken | undefined {
    return this.#tokens.get(key);
  }

  set(key: string, token: KeptToken): void {
    this.#tokens.set(key, token);
  }

  /** Forgets the tokens that are bound to the pod. Returns their keys. */
  forgetPod(uid: string): readonly string[] {
    return this.#forget(({ answer }) => boundUID(answer) === uid);
  }

  /** Returns the keys of those that are forgotten. */
  forgetExpired(now: number): readonly string[] {
    return this.#forget(({ answer, clockAheadMs }) => isExpired(answer, now - clockAheadMs));
  }

  #forget(isForgotten: (token: KeptToken) => boolean): readonly string[] {
    const keys = [...this.#tokens].filter(([, token]) => isForgotten(token)).map(([key]) => key);
    for (const key of keys) this.#tokens.delete(key);
    return keys;
  }
}

/** The UID of the pod that the token is bound to. */
export function boundUID({ spec }: TokenRequest): string | undefined {
  return spec.boundObjectRef?.uid;
}
