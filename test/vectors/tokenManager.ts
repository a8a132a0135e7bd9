import {
  isExpired,
  needsRefresh,
  TokenCache,
  tokenKey,
} from '../../src/agent/policies/volumes/token-cache.ts';
import { rfc3339 } from '../../src/agent/policies/formats/time.ts';
import type { TokenRequest } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Asked {
  readonly name: string;
  readonly namespace: string;
  readonly tokenRequest: TokenRequest;
}
type Step =
  | (Asked & {
      readonly op: 'get';
      readonly serverFails?: boolean;
      readonly serverExpirationSeconds?: number;
    })
  | { readonly op: 'advance'; readonly seconds: number }
  | { readonly op: 'deletePod'; readonly podUID: string }
  | { readonly op: 'cleanup' };
type Input =
  | {
      readonly fn: 'requiresRefresh';
      readonly jitterSeconds: number;
      readonly now: number;
      readonly tokenRequest: TokenRequest;
    }
  | { readonly fn: 'sameKey'; readonly a: Asked; readonly b: Asked }
  | {
      readonly fn: 'manager';
      readonly jitterSeconds: number;
      readonly now: number;
      readonly steps: readonly Step[];
    };

/** The steps of a manager on a server that issues token-1, token-2, … */
function answers({ jitterSeconds, now, steps }: Extract<Input, { fn: 'manager' }>): object[] {
  const cache = new TokenCache();
  let clock = now * 1000;
  let issued = 0;
  /**
   * All answers of the vectors' server share one place for it: a later answer also changes the life of tokens that it gave before, and
   * so when they are asked for anew (`rnd 120`). A real server's answers stay as they are.
   */
  let serverExpirationSeconds: number | undefined;
  const get = (step: Extract<Step, { op: 'get' }>) => {
    const key = tokenKey(step, step.tokenRequest);
    serverExpirationSeconds = step.serverExpirationSeconds ?? serverExpirationSeconds;
    const kept = cache.get(key);
    if (kept && !needsRefresh(kept.answer, clock, kept.jitterSeconds))
      return { serverCalls: 0, token: kept.answer.status?.token };
    if (step.serverFails === true) {
      if (!kept || isExpired(kept.answer, clock))
        return { error: 'failed to fetch token: server down', serverCalls: 1 };
      return { serverCalls: 1, token: kept.answer.status?.token };
    }
    issued += 1;
    const expirationSeconds =
      step.serverExpirationSeconds ?? step.tokenRequest.spec.expirationSeconds ?? 3600;
    const isServers = step.serverExpirationSeconds !== undefined;
    const status = {
      token: `token-${issued}`,
      expirationTimestamp: rfc3339(clock + expirationSeconds * 1000),
    };
    const spec = {
      ...step.tokenRequest.spec,
      get expirationSeconds() {
        return isServers ? serverExpirationSeconds : expirationSeconds;
      },
    };
    cache.set(key, { answer: { ...step.tokenRequest, spec, status }, clockAheadMs: 0, jitterSeconds });
    return { serverCalls: 1, token: status.token };
  };
  return steps.map((step) => {
    if (step.op === 'get') {
      const answer = { error: null, ...get(step) };
      return { ...answer, cached: cache.size };
    }
    if (step.op === 'advance') clock += step.seconds * 1000;
    if (step.op === 'deletePod') cache.forgetPod(step.podUID);
    if (step.op === 'cleanup') cache.forgetExpired(clock);
    return { cached: cache.size };
  });
}

export const adapter: VectorAdapter = {
  adapt(input: Input): unknown {
    if (input.fn === 'manager') return { steps: answers(input) };
    if (input.fn === 'sameKey') {
      const [a, b] = [input.a, input.b].map((asked) => tokenKey(asked, asked.tokenRequest));
      return { same: a === b };
    }
    const { tokenRequest, now, jitterSeconds } = input;
    return {
      requiresRefresh: needsRefresh(tokenRequest, now * 1000, jitterSeconds),
      expired: isExpired(tokenRequest, now * 1000),
    };
  },
};
