import { describe, expect, test } from '@jest/globals';
import { Router } from '../../../src/server/node/router.ts';
import type { Route } from '../../../src/server/routes/route.ts';

const route = (path: string): Route => ({ path, handle: () => undefined });
const router = new Router(
  ['/pods', '/runningpods/', '/logs/*', '/exec/:ns/:pod/:c', '/exec/:ns/:pod/:uid/:c', '/exec/:ns/a/b'].map(
    route,
  ),
);
const found = (path: string) => {
  const match = router.find(path);
  return match && [match.route.path, { ...match.params }];
};

describe('a path', () => {
  test.each([
    ['/pods', ['/pods', {}]],
    ['/pods/', undefined],
    ['/Pods', undefined],
    ['//pods', undefined],
    ['/', undefined],
    ['', undefined],
    ['/runningpods/', ['/runningpods/', {}]],
    ['/exec/n/p/c', ['/exec/:ns/:pod/:c', { ns: 'n', pod: 'p', c: 'c' }]],
    ['/exec/n/p/u/c', ['/exec/:ns/:pod/:uid/:c', { ns: 'n', pod: 'p', uid: 'u', c: 'c' }]],
    ['/exec/n/p', undefined],
    ['/exec/n//c', undefined],
    ['/exec/n/p/u/c/more', undefined],
    ['/exec/n/../c', ['/exec/:ns/:pod/:c', { ns: 'n', pod: '..', c: 'c' }]],
    ['/logs/', ['/logs/*', { '*': '' }]],
    ['/logs', undefined],
    ['/logs/a/b', ['/logs/*', { '*': 'a/b' }]],
    ['/logs/../etc', ['/logs/*', { '*': '../etc' }]],
  ])('%s fits %j', (path, expected) => {
    expect(found(path)).toEqual(expected);
  });

  test('finds no route by the names that every object has', () => {
    for (const path of ['/constructor', '/__proto__', '/toString/x']) expect(found(path)).toBeUndefined();
  });
});
