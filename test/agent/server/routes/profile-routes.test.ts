import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Profile } from 'pprof-format';
import { profileRoutes } from '../../../../src/agent/server/routes/profile-routes.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { serveForTest, type ServedRoutes } from '../../../support/served-routes.ts';
import { waitFor } from '../../../support/wait-for.ts';

let served: ServedRoutes;
let clock: VirtualClock;
beforeEach(async () => {
  clock = new VirtualClock(1_000_000);
  served = await serveForTest(profileRoutes(clock));
});
afterEach(() => served.close());

const isWaiting = (times = 1) =>
  waitFor(() => clock.armed === times, { what: `${times} profiles to be recorded` });

test.each([
  ['profile', ['samples', 'count', 'cpu', 'nanoseconds']],
  ['heap', ['inuse_objects', 'count', 'inuse_space', 'bytes']],
])('/debug/pprof/%s is a profile of pprof of so many seconds', async (name, texts) => {
  const asked = fetch(`${served.url}/debug/pprof/${name}?seconds=2`);
  await isWaiting();
  await clock.advance(2_000);
  const response = await asked;
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
  });
  const profile = Profile.decode(gunzipSync(Buffer.from(await response.arrayBuffer())));
  expect(profile.durationNanos).toBe(2_000_000_000n);
  const { strings } = profile.stringTable;
  const shown = profile.sampleType.flatMap(({ type, unit }) => [
    strings[Number(type)],
    strings[Number(unit)],
  ]);
  expect(shown).toEqual(texts);
});

test('a client that disappears ends its profile, and another may be recorded', async () => {
  const gone = new AbortController();
  const asked = fetch(`${served.url}/debug/pprof/profile`, { signal: gone.signal }).catch(() => 'gone');
  await isWaiting();
  const busy = await served.ask('/debug/pprof/profile');
  expect(busy).toMatchObject({ status: 500, body: 'profile: profiling is already in use\n' });
  gone.abort();
  expect(await asked).toBe('gone');
  await isWaiting(0);
  const next = served.ask('/debug/pprof/profile?seconds=1');
  await isWaiting();
  await clock.advance(1_000);
  expect(await next).toMatchObject({ status: 200 });
});

test('a profile that would take too long is refused', async () => {
  expect(await served.ask('/debug/pprof/heap?seconds=301')).toMatchObject({
    status: 400,
    body: 'seconds: must be 300 or less\n',
  });
});

test('profiles of Go are not found', async () => {
  const { status, headers, body } = await served.ask('/debug/pprof/goroutine?debug=1');
  expect({ status, mark: headers['x-go-pprof'] }).toEqual({ status: 404, mark: '1' });
  expect(body).toBe('Unknown profile; served here: /debug/pprof/profile and /debug/pprof/heap\n');
});
