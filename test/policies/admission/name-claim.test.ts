import { describe, expect, test } from '@jest/globals';
import { type NameClaim, releaseName, requestName } from '../../../src/policies/admission/name-claim.ts';

const claim = (holder: string, ...waiting: string[]): NameClaim => ({ holder, waiting });

describe('requesting a full name (10, I6)', () => {
  test('10: the first pod that asks gets it', () => {
    expect(requestName(undefined, 'a')).toEqual({ claim: claim('a'), granted: 'a' });
  });

  test('10: the second pod waits for the holder', () => {
    expect(requestName(claim('a'), 'b')).toEqual({ claim: claim('a', 'b') });
  });

  test('10: the third pod waits behind the second', () => {
    expect(requestName(claim('a', 'b'), 'c')).toEqual({ claim: claim('a', 'b', 'c') });
  });

  test('10: the holder that asks again gets it again, and the queue stays', () => {
    expect(requestName(claim('a', 'b'), 'a')).toEqual({ claim: claim('a', 'b'), granted: 'a' });
  });

  test('10: a waiting pod that asks again keeps its place', () => {
    expect(requestName(claim('a', 'b', 'c'), 'b')).toEqual({ claim: claim('a', 'b', 'c') });
  });
});

describe('releasing a full name (10, I6)', () => {
  test('10: the first in the queue gets it, and the others move up', () => {
    expect(releaseName(claim('a', 'b', 'c'), 'a')).toEqual({ claim: claim('b', 'c'), granted: 'b' });
  });

  test('10: without a queue the name is free', () => {
    expect(releaseName(claim('a'), 'a')).toEqual({ claim: undefined });
  });

  test('10: a pod that was deleted while it waited is skipped', () => {
    const { claim: left, granted } = releaseName(claim('a', 'b', 'c'), 'b');
    expect([left, granted]).toEqual([claim('a', 'c'), undefined]);
    expect(releaseName(left, 'a').granted).toBe('c');
  });

  test('I6: a pod that neither holds the name nor waits cannot release it', () => {
    expect(releaseName(claim('a', 'b'), 'c')).toEqual({ claim: claim('a', 'b') });
  });

  test('a name without a holder stays free', () => {
    expect(releaseName(undefined, 'a')).toEqual({ claim: undefined });
  });
});

test('10: pods get the name in the order in which they asked', () => {
  const uids = ['a', 'b', 'c', 'd', 'e'];
  let current: NameClaim | undefined;
  const started: (string | undefined)[] = [];
  for (const uid of uids) {
    const decision = requestName(current, uid);
    current = decision.claim;
    if (decision.granted) started.push(decision.granted);
  }
  while (current) {
    const decision = releaseName(current, current.holder);
    current = decision.claim;
    if (decision.granted) started.push(decision.granted);
  }
  expect(started).toEqual(uids);
});
