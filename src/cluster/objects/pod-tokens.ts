import { isExpired, needsRefresh, TokenCache, tokenKey } from '../../policies/volumes/token-cache.ts';
import type { TokenWish } from '../../types/api-objects.ts';
import type { Clock } from '../../types/clock.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { Pod, TokenRequest } from '../../types/kubernetes.ts';
import { podFields, type Logger } from '../../types/logger.ts';
import type { ApiServer } from '../service/api-server.ts';
import { despiteForbidden } from './recent-objects.ts';

const REQUEST_LIMIT_MS = 3_000;
const MAX_JITTER_SECONDS = 10;

interface TokenInFlight {
  readonly podUID: string | undefined;
  readonly answer: Promise<TokenRequest>;
}

export interface PodTokensOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Tokens of service accounts, each bound to a pod: the server refuses them once the pod is gone. */
export class PodTokens {
  readonly #options: PodTokensOptions;
  readonly #cache = new TokenCache();
  readonly #requests = new Map<string, TokenInFlight>();

  constructor(options: PodTokensOptions) {
    this.#options = options;
  }

  async get(pod: Pod, wish: TokenWish): Promise<string> {
    const { clock, random, logger } = this.#options;
    const owner = { namespace: pod.metadata.namespace, name: pod.spec.serviceAccountName ?? 'default' };
    const request = tokenRequest(pod, wish);
    const key = tokenKey(owner, request);
    const kept = this.#cache.get(key);
    const jitterSeconds = Math.floor(random() * MAX_JITTER_SECONDS);
    if (kept && !needsRefresh(kept, clock.now(), jitterSeconds)) return tokenOf(kept);
    try {
      return tokenOf(await this.#ask(key, owner, request));
    } catch (error) {
      if (!kept || isExpired(kept, clock.now())) {
        const message = `failed to fetch token: ${errorMessage(error)}`;
        throw new StateletError(errorKind(error), message, { cause: error });
      }
      const problem = `cannot renew a token of service account ${owner.name}: ${errorMessage(error)}`;
      logger.warn(podFields(pod.metadata), problem);
      return tokenOf(kept);
    }
  }

  forgetPod(uid: string): void {
    this.#cache.forgetPod(uid);
    this.#cache.forgetExpired(this.#options.clock.now());
    for (const [key, { podUID }] of this.#requests) if (podUID === uid) this.#requests.delete(key);
  }

  /** One request at a time for what is the same token. */
  #ask(
    key: string,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    request: TokenRequest,
  ): Promise<TokenRequest> {
    const pending = this.#requests.get(key);
    if (pending) return pending.answer;
    const { api, clock } = this.#options;
    const target = { resource: 'serviceaccounts', namespace, name, subresource: 'token' } as const;
    const answer = despiteForbidden(clock, () =>
      api.create(target, request, { timeoutMs: REQUEST_LIMIT_MS }),
    );
    const inFlight = { podUID: request.spec.boundObjectRef?.uid, answer };
    this.#requests.set(key, inFlight);
    const settle = (token?: TokenRequest) => {
      // The pod has been forgotten meanwhile.
      if (this.#requests.get(key) !== inFlight) return;
      this.#requests.delete(key);
      if (token) this.#cache.set(key, token);
    };
    answer.then(settle, () => settle());
    return answer;
  }
}

function tokenRequest({ metadata }: Pod, { audience, expirationSeconds }: TokenWish): TokenRequest {
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      audiences: audience ? [audience] : [],
      ...(expirationSeconds !== undefined && { expirationSeconds }),
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid },
    },
  };
}

function tokenOf({ status }: TokenRequest): string {
  if (!status?.token) throw new StateletError('Internal', 'the API server answered without a token');
  return status.token;
}
