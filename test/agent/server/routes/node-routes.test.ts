import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  healthRoutes,
  podRoutes,
  statsRoutes,
  verbosityRoutes,
} from '../../../../src/agent/server/routes/node-routes.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { type ServedRoutes, serveForTest } from '../../../support/served-routes.ts';

let served: ServedRoutes;
afterEach(() => served.close());

describe('/healthz', () => {
  async function serve(problem?: string) {
    served = await serveForTest(healthRoutes({ health: () => problem }));
    return served;
  }

  const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
  const SNIFFLESS = { ...TEXT, 'x-content-type-options': 'nosniff' };

  test.each(['GET', 'POST', 'PUT', 'DELETE'])('%s has the same answer', async (method) => {
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

  test('an agent that is not healthy: only the failed check has a reason', async () => {
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
});

describe('/stats/summary', () => {
  async function serveStats() {
    const asked: boolean[] = [];
    served = await serveForTest(
      statsRoutes({
        summary: ({ onlyCPUAndMemory }) => {
          asked.push(onlyCPUAndMemory);
          return Promise.resolve({
            pods: [],
            node: { startTime: '2026-11-22T05:54:19.123Z', nodeName: 'a' },
          });
        },
      }),
    );
    return { ...served, asked };
  }

  test('the summary is written as the kubelet writes it', async () => {
    const { ask } = await serveStats();
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
    const { ask, asked } = await serveStats();
    await ask(`/stats/summary${query}`);
    await ask(`/stats/summary${query}`, { method: 'POST' });
    expect(asked).toEqual([expected, expected]);
  });

  test('other methods are refused', async () => {
    const { ask } = await serveStats();
    for (const method of ['PUT', 'PATCH', 'HEAD', 'DELETE'])
      expect(await ask('/stats/summary', { method })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, POST' },
      });
  });
});

describe('/debug/flags/v', () => {
  let levels: number[];

  beforeEach(async () => {
    levels = [];
    served = await serveForTest(verbosityRoutes({ setVerbosity: (level) => void levels.push(level) }));
  });

  const HEADERS = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' };

  const put = (body: string) => served.ask('/debug/flags/v', { method: 'PUT', body });

  test('PUT changes the verbosity', async () => {
    const body = 'successfully set klog.logging.verbosity to 4\n';
    expect(await put('4')).toEqual({ status: 200, headers: HEADERS, body });
    expect(levels).toEqual([4]);
  });

  test('a value that is no verbosity is refused, and changes nothing', async () => {
    const body = 'strconv.ParseUint: parsing "abc": invalid syntax\n';
    expect(await put('abc')).toEqual({ status: 400, headers: HEADERS, body });
    expect(levels).toEqual([]);
  });

  test('only the beginning of a body without end is read', async () => {
    const { status, body } = await put('7'.repeat(1_000_000));
    expect(status).toBe(400);
    expect(body.length).toBeLessThan(2_000);
  });

  test.each(['GET', 'POST'])('%s is refused', async (method) => {
    const body = 'unsupported http method\n';
    expect(await served.ask('/debug/flags/v', { method })).toEqual({ status: 406, headers: HEADERS, body });
  });
});

describe('the lists of pods', () => {
  const JSON_HEADERS = { 'content-type': 'application/json' };

  async function servePods(pods: readonly Pod[], running: readonly RuntimePodStatus[] = []) {
    served = await serveForTest(podRoutes({ desiredPods: () => pods, runtimePods: () => running }));
    return served;
  }

  function pod(name: string, status?: object): Pod {
    const containers = [{ name: 'main', command: ['sh', '-c', 'a && b > c'] }];
    const metadata = { name, namespace: 'default', uid: name };
    return { kind: 'Pod', apiVersion: 'v1', metadata, spec: { containers }, ...(status && { status }) };
  }

  test('/pods has the bytes of the kubelet: items without kind, escaped as Go does, a new line at the end', async () => {
    const { ask } = await servePods([pod('a', { phase: 'Running' }), pod('b')]);
    const item = (name: string, status: string) =>
      `{"metadata":{"name":"${name}","namespace":"default","uid":"${name}"},` +
      String.raw`"spec":{"containers":[{"name":"main","command":["sh","-c","a \u0026\u0026 b \u003e c"]}]},` +
      `"status":${status}}`;
    const items = `[${item('a', '{"phase":"Running"}')},${item('b', '{}')}]`;
    expect(await ask('/pods?x=%zz')).toEqual({
      status: 200,
      headers: JSON_HEADERS,
      body: `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":${items}}\n`,
    });
  });

  test('a list without pods has null', async () => {
    const { ask } = await servePods([]);
    const body = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n';
    expect(await ask('/pods')).toEqual({ status: 200, headers: JSON_HEADERS, body });
    expect(await ask('/runningpods/')).toEqual({ status: 200, headers: JSON_HEADERS, body });
  });

  test('/pods has every pod of many, in their order', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `pod-${index}`);
    const { ask } = await servePods(names.map((name) => pod(name)));
    const { items } = JSON.parse((await ask('/pods')).body) as { items: Pod[] };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
  });

  test('/runningpods/ has what runs in the runtime', async () => {
    const container = { name: 'main', state: 'running', createdAt: 1, image: 'x', imageRef: 'sha256:498a' };
    const running = [
      { uid: 'u', name: 'web', namespace: 'default', sandboxes: [], containers: [container], observedAt: 0 },
    ] as unknown as RuntimePodStatus[];
    const { ask } = await servePods([], running);
    const item =
      '{"metadata":{"name":"web","namespace":"default","uid":"u"},' +
      '"spec":{"containers":[{"name":"main","image":"sha256:498a","resources":{}}]},"status":{}}';
    expect((await ask('/runningpods/')).body).toBe(
      `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${item}]}\n`,
    );
  });

  test.each(['/pods', '/runningpods/'])('%s is for GET alone', async (path) => {
    const { ask } = await servePods([]);
    for (const method of ['POST', 'HEAD', 'DELETE'])
      expect(await ask(path, { method })).toMatchObject({ status: 405, headers: { allow: 'GET' } });
  });
});
