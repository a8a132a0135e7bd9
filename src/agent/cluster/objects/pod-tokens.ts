import { clockDifferenceMs } from '../../policies/node/lease-renewal.ts';
import {
  boundUID,
  isExpired,
  type KeptToken,
  needsRefresh,
  refreshDueAt,
  TokenCache,
  tokenKey,
  type TokenOwner,
} from '../../policies/volumes/token-cache.ts';
import { WorkQueue } from '../../../system/work-queue.ts';
import type { TokenWish } from '../../../types/api-objects.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod, TokenRequest } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ApiServer } from '../service/api-server.ts';
import { retryWhileForbidden } from './fetched-objects.ts';

const REQUEST_LIMIT_MS = 3_000;
const MAX_JITTER_SECONDS = 10;
/**
 * Between a renewal that failed and the next one: a token of ten minutes, the shortest life, is asked for four times before it
 * expires. No token is renewed sooner, also if the server gives tokens that are over.
 */
const RENEWAL_PAUSE_MS = 30_000;

interface TokenInFlight {
  readonly podUID: string | undefined;
  readonly answer: Promise<TokenRequest>;
}

type Context = Pick<AgentContext, 'clock' | 'random' | 'logger'>;

/** Tokens of service accounts, each bound to a pod: the server refuses them once the pod is gone. */
export class PodTokens {
  readonly #context: Context;
  readonly #api: ApiServer;
  readonly #onDue: (podUID: string) => void;
  readonly #cache = new TokenCache();
  readonly #requests = new Map<string, TokenInFlight>();
  readonly #renewals: WorkQueue;

  /** `onDue`: a token of the pod is to be asked for anew: `get` does so from now on. */
  constructor(context: Context, api: ApiServer, onDue: (podUID: string) => void) {
    this.#context = context;
    this.#api = api;
    this.#onDue = onDue;
    this.#renewals = new WorkQueue(context.clock, (keys) => this.#emitDue(keys));
  }

  async get(pod: Pod, wish: TokenWish): Promise<string> {
    const owner = { namespace: pod.metadata.namespace, name: pod.spec.serviceAccountName ?? 'default' };
    const request = tokenRequest(pod, wish);
    const key = tokenKey(owner, request);
    const kept = this.#cache.get(key);
    if (kept && !needsRefresh(kept.answer, this.#serverTime(kept), kept.jitterSeconds))
      return tokenOf(kept.answer);
    try {
      return tokenOf(await this.#ask(key, owner, request));
    } catch (error) {
      if (!kept || isExpired(kept.answer, this.#serverTime(kept))) {
        const message = `failed to fetch token: ${errorMessage(error)}`;
        throw new StateletError(errorKind(error), message, { cause: error });
      }
      const problem = `cannot renew a token of service account ${owner.name}: ${errorMessage(error)}`;
      this.#context.logger.warn(podFields(pod.metadata), problem);
      if (this.#cache.get(key) === kept) this.#renewals.enqueue(key, RENEWAL_PAUSE_MS);
      return tokenOf(kept.answer);
    }
  }

  forgetPod(uid: string): void {
    const forgotten = [
      ...this.#cache.forgetPod(uid),
      ...this.#cache.forgetExpired(this.#context.clock.now()),
    ];
    for (const key of forgotten) this.#renewals.cancel(key);
    for (const [key, { podUID }] of this.#requests) if (podUID === uid) this.#requests.delete(key);
  }

  close(): void {
    this.#renewals.stop();
  }

  /** The times of a token are the server's, whose clock may differ. */
  #serverTime({ clockAheadMs }: KeptToken): number {
    return this.#context.clock.now() - clockAheadMs;
  }

  /** One request at a time for what is the same token. */
  #ask(key: string, { namespace, name }: TokenOwner, request: TokenRequest): Promise<TokenRequest> {
    const pending = this.#requests.get(key);
    if (pending) return pending.answer;
    const { clock } = this.#context;
    const target = { resource: 'serviceaccounts', namespace, name, subresource: 'token' } as const;
    const askedMs = clock.now();
    const answer = retryWhileForbidden(clock, () =>
      this.#api.create(target, request, { timeoutMs: REQUEST_LIMIT_MS }),
    );
    const inFlight = { podUID: boundUID(request), answer };
    this.#requests.set(key, inFlight);
    const settle = (token?: TokenRequest) => {
      // The pod has been forgotten meanwhile.
      if (this.#requests.get(key) !== inFlight) return;
      this.#requests.delete(key);
      if (token) this.#keep(key, token, askedMs);
    };
    answer.then(settle, () => settle());
    return answer;
  }

  #keep(key: string, answer: TokenRequest, askedMs: number): void {
    const { clock, random } = this.#context;
    const jitterSeconds = Math.floor(random() * MAX_JITTER_SECONDS);
    const times = { askedMs, gotMs: clock.now(), date: answer.metadata?.creationTimestamp };
    const kept = { answer, jitterSeconds, clockAheadMs: clockDifferenceMs(times) };
    this.#cache.set(key, kept);
    const due = refreshDueAt(answer, jitterSeconds);
    if (due === undefined) this.#renewals.cancel(key);
    else this.#renewals.enqueue(key, Math.max(due + 1 - this.#serverTime(kept), RENEWAL_PAUSE_MS));
  }

  #emitDue(keys: readonly string[]): void {
    const answers = keys.flatMap((key) => this.#cache.get(key)?.answer ?? []);
    for (const uid of new Set(answers.map(boundUID))) if (uid !== undefined) this.#onDue(uid);
  }
}

function tokenRequest({ metadata }: Pod, { audience, expirationSeconds }: TokenWish): TokenRequest {
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      audiences: audience ? [audience] : [],
      expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid },
    },
  };
}

function tokenOf({ status }: TokenRequest): string {
  if (!status?.token) throw new StateletError('Internal', 'the API server answered without a token');
  return status.token;
}
