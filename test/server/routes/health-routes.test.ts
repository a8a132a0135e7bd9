import { afterEach, expect, test } from '@jest/globals';
import { healthRoutes } from '../../../src/server/routes/health-routes.ts';
import { serveForTest, type ServedRoutes } from '../../support/served-routes.ts';

let served: ServedRoutes;
afterEach(() => served.close());

async function serve(problem?: string) {
  served = await serveForTest(healthRoutes({ health: () => problem }));
  return served;
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const SNIFFLESS = { ...TEXT, 'x-content-type-options': 'nosniff' };

test.each(['GET', 'POST', 'PUT', 'DELETE'])('%s is answered alike', async (method) => {
  const { ask } = await serve();
  expect(await ask('/healthz', { method })).toEqual({ status: 200, headers: SNIFFLESS, body: 'ok' });
});

test('HEAD has the headers alone', async () => {
  const { ask } = await serve();
  expect(await ask('/healthz', { method: 'HEAD' })).toEqual({ status: 200, headers: SNIFFLESS, body: '' });
});

test('?verbose names all checks', async () => {
  const { ask } = await serve();
  const body = '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n';
  expect(await ask('/healthz?verbose')).toEqual({ status: 200, headers: SNIFFLESS, body });
});

test.each(['ping', 'log', 'syncloop', 'device-plugin'])('/healthz/%s', async (name) => {
  const { ask } = await serve();
  expect(await ask(`/healthz/${name}?verbose`)).toEqual({ status: 200, headers: TEXT, body: 'ok' });
});

test('an agent that is not healthy: its check alone tells why', async () => {
  const { ask } = await serve('the loop is stuck');
  const body =
    '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\n[+]device-plugin ok\nhealthz check failed\n';
  expect(await ask('/healthz')).toEqual({ status: 500, headers: SNIFFLESS, body });
  expect(await ask('/healthz/ping')).toMatchObject({ status: 200 });
  expect(await ask('/healthz/syncloop')).toEqual({
    status: 500,
    headers: SNIFFLESS,
    body: 'internal server error: the loop is stuck\n',
  });
});

test('checks that are not there are not found', async () => {
  const { ask } = await serve();
  for (const path of ['/healthz/', '/healthz/nope']) expect(await ask(path)).toMatchObject({ status: 404 });
});
