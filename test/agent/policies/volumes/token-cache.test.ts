import { expect, test } from '@jest/globals';
import { needsRefresh, TokenCache, tokenKey } from '../../../../src/agent/policies/volumes/token-cache.ts';
import type { TokenRequest } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('tokenManager');

const issuedAt = Date.parse('2030-01-01T00:00:00Z');
const answer = (expirationSeconds: number, uid = 'u-1'): TokenRequest => ({
  spec: { audiences: [], expirationSeconds, boundObjectRef: { kind: 'Pod', name: 'web', uid } },
  status: { token: 'x', expirationTimestamp: new Date(issuedAt + expirationSeconds * 1000).toISOString() },
});

test.each([
  ['in the first four fifths of its life', 3600, 2880, false],
  ['in the last fifth', 3600, 2881, true],
  ['up to a day, where it is valid for longer', 10 * 86_400, 86_400, false],
  ['after a day', 10 * 86_400, 86_401, true],
])('a token is used %s', (_, life, ageSeconds, wanted) => {
  expect(needsRefresh(answer(life), issuedAt + ageSeconds * 1000, 0)).toBe(wanted);
});

test('the tokens of a pod are forgotten with it, and no others', () => {
  const cache = new TokenCache();
  const owner = { namespace: 'default', name: 'default' };
  for (const uid of ['u-1', 'u-2'])
    cache.set(tokenKey(owner, answer(600, uid)), {
      answer: answer(600, uid),
      jitterSeconds: 0,
      clockAheadMs: 0,
    });
  cache.forgetPod('u-1');
  expect(cache.get(tokenKey(owner, answer(600, 'u-1')))).toBeUndefined();
  expect(cache.get(tokenKey(owner, answer(600, 'u-2')))).toBeDefined();
});
