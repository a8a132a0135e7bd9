import { describe, expect, test } from '@jest/globals';
import { requestAttributes } from '../../../../src/agent/policies/server/request-attributes.ts';
import { nodeService } from '../../../../src/agent/server/node/node-service.ts';
import { requestTarget, Router } from '../../../../src/agent/server/node/router.ts';
import { RequestError, type Route } from '../../../../src/agent/server/routes/route.ts';
import { type SeededRandom, seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import { testContext } from '../../../support/test-context.ts';

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

describe('the target of a request', () => {
  test.each([
    ['/pods', '/pods', ''],
    ['/pods?a=b?c#d', '/pods', 'a=b?c#d'],
    ['/pods#x', '/pods#x', ''],
    ['/%70ods%2Fx%3F', '/pods/x?', ''],
    ['/%252F', '/%2F', ''],
    ['/a+b', '/a+b', ''],
    ['http://host/pods?x', '/pods', 'x'],
    ['HTTPS://host', '', ''],
    ['http://host?x', '', 'x'],
    ['http:/host/pods', '/host/pods', ''],
    ['ftp://host/pods', '/pods', ''],
    ['javascript:1', '', ''],
    ['*', '*', ''],
    ['/%e4%b8%96', '/世', ''],
    ['/%ff', '/\u{fffd}', ''],
    ['/%00', '/\0', ''],
    [undefined, '/', ''],
  ])('%s has the path %s and the query "%s"', (url, path, query) => {
    expect(requestTarget(url)).toMatchObject({ path, query });
  });

  test.each(['/%', '/%1', '/%zz', '/a%2', 'pods', '*x', '?x', '9:/pods'])('%s is no path', (url) => {
    expect(() => requestTarget(url)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

const PARTS = [
  '/',
  '//',
  '.',
  '..',
  '%',
  '%2',
  '%2f',
  '%2F',
  '%2e',
  '%00',
  '%ff',
  '%25',
  '\\',
  ';',
  '?',
  '#',
  '&',
  '=',
]
  .concat([
    'pods',
    'healthz',
    'containerLogs',
    'exec',
    'logs',
    'metrics',
    'a',
    'http://h',
    '*',
    ':',
    'é',
    ' ',
  ])
  .concat(['__proto__', 'constructor', 'statsx', 'runningpods', 'debug', 'pprof']);

function url(random: SeededRandom): string {
  const length = random.integer(0, 12);
  const parts = Array.from({ length }, () => random.pick(PARTS));
  return random.next() < 0.7 ? `/${parts.join('')}` : parts.join('');
}

const routes: readonly Route[] = [
  '/pods',
  '/healthz',
  '/healthz/ping',
  '/metrics',
  '/runningpods/',
  '/containerLogs/:namespace/:pod/:container',
  '/exec/:namespace/:pod/:container',
  '/logs/*',
].map((path) => ({ path, handle: () => undefined }));

test('no target makes the server fail or skips authorization (20,000 random ones)', async () => {
  const random = seededRandom(15);
  let reached = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const target = url(random);
    const asked: string[] = [];
    const check = (_: unknown, path: string) => {
      asked.push(path);
      return Promise.resolve();
    };
    const service = nodeService(testContext(), { routes, check });
    const raw = { method: random.pick(['GET', 'POST', 'HEAD', 'x']) } as never;
    try {
      const parsed = requestTarget(target);
      await service.admit?.(raw, parsed);
      const found = await service.find(parsed);
      if (found === undefined) continue;
      reached += 1;
      // Who may what was asked for exactly the path that is served, by the rule of the route's own name.
      expect(asked).toEqual([parsed.path]);
      const [, root = ''] = found.route.path.split('/');
      const rights = (path: string) =>
        requestAttributes('GET', path, 'n').map(({ subresource }) => subresource);
      expect([target, rights(parsed.path)]).toEqual([target, rights(`/${root}`)]);
    } catch (error) {
      if (!(error instanceof RequestError))
        throw new Error(`${JSON.stringify(target)} failed`, { cause: error });
      expect([307, 400, 404]).toContain(error.status);
      if (error.status === 307) expect(error.headers.Location).toMatch(/^\/(?!\/)/u);
    }
  }
  expect(reached).toBeGreaterThan(100);
});
