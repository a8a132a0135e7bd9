import { beforeEach, expect, test } from '@jest/globals';
import { NameClaims } from '../../../src/actors/start/name-claims.ts';

let claims: NameClaims;
beforeEach(() => {
  claims = new NameClaims();
});

test('10: one UID at a time under a full name, first come, first served', () => {
  expect(claims.request('web_default', 'a')).toBe(true);
  expect(claims.request('web_default', 'b')).toBe(false);
  expect(claims.request('web_default', 'c')).toBe(false);
  expect(claims.release('web_default', 'a')).toBe('b');
  expect(claims.release('web_default', 'b')).toBe('c');
  expect(claims.release('web_default', 'c')).toBeUndefined();
});

test('10: names do not stand in the way of each other', () => {
  expect(claims.request('web_default', 'a')).toBe(true);
  expect(claims.request('web_other', 'b')).toBe(true);
  expect(claims.request('db_default', 'c')).toBe(true);
});

test('10: a name that was released can be taken again', () => {
  claims.request('web_default', 'a');
  claims.release('web_default', 'a');
  expect(claims.request('web_default', 'b')).toBe(true);
});

test('10: one that was deleted while it waited is skipped', () => {
  for (const uid of ['a', 'b', 'c']) claims.request('web_default', uid);
  expect(claims.release('web_default', 'b')).toBeUndefined();
  expect(claims.release('web_default', 'a')).toBe('c');
});

test('10: who holds the name may ask again (its actor was replaced)', () => {
  claims.request('web_default', 'a');
  claims.request('web_default', 'b');
  expect(claims.request('web_default', 'a')).toBe(true);
  expect(claims.release('web_default', 'a')).toBe('b');
});

test('I6: the end of one that does not hold the name frees nothing', () => {
  claims.request('web_default', 'a');
  expect(claims.release('web_default', 'x')).toBeUndefined();
  expect(claims.request('web_default', 'b')).toBe(false);
});
