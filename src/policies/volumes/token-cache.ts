/** Which tokens of service accounts are kept, and when one is asked for anew. */
import type { TokenRequest } from '../../types/kubernetes.ts';

/** No token is used for longer, however long it is valid. */
const MAX_AGE_MS = 24 * 3600 * 1000;

/** `jitterSeconds`: 0 to 9, so that not all nodes ask at the same time. `now` is Unix ms. */
export function needsRefresh({ spec, status }: TokenRequest, now: number, jitterSeconds: number): boolean {
  const { expirationSeconds } = spec;
  if (expirationSeconds == null) return false;
  const expires = expirationOf(status);
  const jitterMs = jitterSeconds * 1000;
  const issued = expires - expirationSeconds * 1000;
  const lastFifthMs = Math.trunc((expirationSeconds * 20) / 100) * 1000;
  return now > issued + MAX_AGE_MS - jitterMs || now > expires - lastFifthMs - jitterMs;
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

/** What is asked for: tokens with one key may stand for each other. */
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

/** Answers of the API server by what was asked for. */
export class TokenCache {
  readonly #answers = new Map<string, TokenRequest>();

  get size(): number {
    return this.#answers.size;
  }

  get(key: string): TokenRequest | undefined {
    return this.#answers.get(key);
  }

  set(key: string, answer: TokenRequest): void {
    this.#answers.set(key, answer);
  }

  /** Forgets the tokens that are bound to the pod. */
  forgetPod(uid: string): void {
    this.#forget(({ spec }) => spec.boundObjectRef?.uid === uid);
  }

  forgetExpired(now: number): void {
    this.#forget((answer) => isExpired(answer, now));
  }

  #forget(isForgotten: (answer: TokenRequest) => boolean): void {
    for (const [key, answer] of this.#answers) if (isForgotten(answer)) this.#answers.delete(key);
  }
}
