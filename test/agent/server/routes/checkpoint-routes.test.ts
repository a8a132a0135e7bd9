import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { CheckpointRequest } from '../../../../src/agent/runtime/service/runtime-service.ts';
import {
  type CheckpointApi,
  checkpointRoutes,
} from '../../../../src/agent/server/routes/checkpoint-routes.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { serveForTest, type ServedRoutes } from '../../../support/served-routes.ts';

const NOW = Date.UTC(2026, 10, 22, 15, 4, 5);
const POD = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'main' }, { name: 'waiting' }] },
} as Pod;
const RUNTIME_POD = { uid: 'u', containers: [{ id: 'c1', name: 'main' }] } as unknown as RuntimePodStatus;

let rootDir: string;
let served: ServedRoutes;
let calls: CheckpointRequest[];
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'statelet-checkpoint-'));
  calls = [];
});
afterEach(async () => {
  served.close();
  await rm(rootDir, { recursive: true });
});

const writes = (request: CheckpointRequest) => Promise.resolve(void calls.push(request));

async function serve(runtime: CheckpointApi['runtime'] = { checkpointContainer: writes }) {
  const pod: CheckpointApi['pod'] = (namespace, name) =>
    namespace === 'default' && name === 'web' ? { pod: POD, state: '' } : undefined;
  const runtimePod = (uid: string) => (uid === 'u' ? RUNTIME_POD : undefined);
  served = await serveForTest(checkpointRoutes({ rootDir, pod, runtimePod, runtime }, { now: () => NOW }));
  return (path: string, method = 'POST') => served.ask(`/checkpoint/${path}`, { method });
}

const refused = (status: number, body: string) => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body,
});

test('lets the runtime write the archive, and returns its path', async () => {
  const ask = await serve();
  const location = join(rootDir, 'checkpoints', 'checkpoint-web_default-main-2026-11-22T15:04:05Z.tar');
  expect(await ask('default/web/main?timeout=7')).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{"items":["${location}"]}`,
  });
  expect(calls).toEqual([{ containerId: 'c1', location, timeoutSeconds: 7 }]);
  expect((await stat(dirname(location))).mode & 0o777).toBe(0o700);
});

describe('is refused as the kubelet refuses it', () => {
  test.each([
    ['default/nope/main', 404, 'pod does not exist'],
    ['other/web/main', 404, 'pod does not exist'],
    ['default/web/nope', 404, 'container nope does not exist'],
    ['default/web/main?timeout=abc', 404, 'cannot parse value of timeout parameter'],
    [
      'default/web/main?timeout=-1',
      500,
      'checkpointing of default/web/main failed (CheckpointContainer requires the timeout value to be > 0)',
    ],
    ['default/web/waiting', 500, 'checkpointing of default/web/waiting failed (container waiting not found)'],
  ])('%s', async (path, status, body) => {
    const ask = await serve();
    expect(await ask(path)).toEqual(refused(status, body));
    expect(calls).toEqual([]);
  });

  test('other methods', async () => {
    const ask = await serve();
    expect(await ask('default/web/main', 'GET')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });

  test('a request to a runtime that has no such call', async () => {
    const cause = { details: 'method CheckpointContainer not implemented' };
    const error = new StateletError('Unimplemented', 'CheckpointContainer: …', { cause });
    const ask = await serve({ checkpointContainer: () => Promise.reject(error) });
    const problem = 'rpc error: code = Unimplemented desc = method CheckpointContainer not implemented';
    expect(await ask('default/web/main')).toEqual(
      refused(500, `checkpointing of default/web/main failed (${problem})`),
    );
  });

  test('a request to a runtime of plain processes', async () => {
    const ask = await serve({});
    expect((await ask('default/web/main')).body).toBe(
      'checkpointing of default/web/main failed (this container runtime writes no checkpoints: that takes one that speaks CRI)',
    );
  });
});
