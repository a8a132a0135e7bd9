import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { verbosityRoutes } from '../../../src/server/routes/verbosity-route.ts';
import { serveForTest, type ServedRoutes } from '../../support/served-routes.ts';

let served: ServedRoutes;
let levels: number[];
beforeEach(async () => {
  levels = [];
  served = await serveForTest(verbosityRoutes({ setVerbosity: (level) => void levels.push(level) }));
});
afterEach(() => served.close());

const HEADERS = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' };
const put = (body: string) => served.ask('/debug/flags/v', { method: 'PUT', body });

test('PUT changes the verbosity', async () => {
  const body = 'successfully set klog.logging.verbosity to 4\n';
  expect(await put('4')).toEqual({ status: 200, headers: HEADERS, body });
  expect(levels).toEqual([4]);
});

test('what is no verbosity is refused, and changes nothing', async () => {
  const body = 'strconv.ParseUint: parsing "abc": invalid syntax\n';
  expect(await put('abc')).toEqual({ status: 400, headers: HEADERS, body });
  expect(levels).toEqual([]);
});

test('of a body without end the beginning is read', async () => {
  const { status, body } = await put('7'.repeat(1_000_000));
  expect(status).toBe(400);
  expect(body.length).toBeLessThan(2_000);
});

test.each(['GET', 'POST'])('%s is refused', async (method) => {
  const body = 'unsupported http method\n';
  expect(await served.ask('/debug/flags/v', { method })).toEqual({ status: 406, headers: HEADERS, body });
});
