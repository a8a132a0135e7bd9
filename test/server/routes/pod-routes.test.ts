import { afterEach, expect, test } from '@jest/globals';
import { podRoutes } from '../../../src/server/routes/pod-routes.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../src/types/runtime-pod.ts';
import { serveForTest, type ServedRoutes } from '../../support/served-routes.ts';

let served: ServedRoutes;
afterEach(() => served.close());

const JSON_HEADERS = { 'content-type': 'application/json' };

async function serve(pods: readonly Pod[], running: readonly RuntimePodStatus[] = []) {
  served = await serveForTest(podRoutes({ desiredPods: () => pods, runtimePods: () => running }));
  return served;
}

function pod(name: string, status?: object): Pod {
  const containers = [{ name: 'main', command: ['sh', '-c', 'a && b > c'] }];
  const metadata = { name, namespace: 'default', uid: name };
  return { kind: 'Pod', apiVersion: 'v1', metadata, spec: { containers }, ...(status && { status }) };
}

test('/pods has the bytes of the kubelet: items without kind, escaped as Go does, a new line at the end', async () => {
  const { ask } = await serve([pod('a', { phase: 'Running' }), pod('b')]);
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
  const { ask } = await serve([]);
  const body = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n';
  expect(await ask('/pods')).toEqual({ status: 200, headers: JSON_HEADERS, body });
  expect(await ask('/runningpods/')).toEqual({ status: 200, headers: JSON_HEADERS, body });
});

test('/pods has every pod of many, in their order', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `pod-${index}`);
  const { ask } = await serve(names.map((name) => pod(name)));
  const { items } = JSON.parse((await ask('/pods')).body) as { items: Pod[] };
  expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
});

test('/runningpods/ has what runs in the runtime', async () => {
  const container = { name: 'main', state: 'running', createdAt: 1, image: 'x', imageRef: 'sha256:498a' };
  const running = [
    { uid: 'u', name: 'web', namespace: 'default', sandboxes: [], containers: [container], observedAt: 0 },
  ] as unknown as RuntimePodStatus[];
  const { ask } = await serve([], running);
  const item =
    '{"metadata":{"name":"web","namespace":"default","uid":"u"},' +
    '"spec":{"containers":[{"name":"main","image":"sha256:498a","resources":{}}]},"status":{}}';
  expect((await ask('/runningpods/')).body).toBe(
    `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${item}]}\n`,
  );
});

test.each(['/pods', '/runningpods/'])('%s is for GET alone', async (path) => {
  const { ask } = await serve([]);
  for (const method of ['POST', 'HEAD', 'DELETE'])
    expect(await ask(path, { method })).toMatchObject({ status: 405, headers: { allow: 'GET' } });
});
