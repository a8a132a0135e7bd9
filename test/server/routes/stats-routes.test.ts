import { afterEach, expect, test } from '@jest/globals';
import { statsRoutes } from '../../../src/server/routes/stats-routes.ts';
import { serveForTest, type ServedRoutes } from '../../support/served-routes.ts';

let served: ServedRoutes;
afterEach(() => served.close());

async function serve() {
  const asked: boolean[] = [];
  served = await serveForTest(
    statsRoutes({
      summary: ({ onlyCPUAndMemory }) => {
        asked.push(onlyCPUAndMemory);
        return Promise.resolve({ pods: [], node: { startTime: '2026-11-22T05:54:19.123Z', nodeName: 'a' } });
      },
    }),
  );
  return { ...served, asked };
}

test('the summary is written as the kubelet writes it', async () => {
  const { ask } = await serve();
  expect(await ask('/stats/summary')).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{\n "node": {\n  "nodeName": "a",\n  "startTime": "2026-11-22T05:54:19Z"\n },\n "pods": []\n}',
  });
});

test.each([
  ['', false],
  ['?only_cpu_and_memory=true', true],
  ['?only_cpu_and_memory=TRUE', false],
  ['?only_cpu_and_memory=1', false],
  ['?only_cpu_and_memory=true&only_cpu_and_memory=true', false],
  ['?a=b&only_cpu_and_memory=true', true],
])('of GET and POST, %j asks for CPU and memory alone: %s', async (query, expected) => {
  const { ask, asked } = await serve();
  await ask(`/stats/summary${query}`);
  await ask(`/stats/summary${query}`, { method: 'POST' });
  expect(asked).toEqual([expected, expected]);
});

test('other methods are refused', async () => {
  const { ask } = await serve();
  for (const method of ['PUT', 'PATCH', 'HEAD', 'DELETE'])
    expect(await ask('/stats/summary', { method })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST' },
    });
});
