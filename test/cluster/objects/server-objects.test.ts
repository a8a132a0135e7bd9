import { beforeEach, expect, test } from '@jest/globals';
import { ApiError } from '../../../src/cluster/service/api-error.ts';
import { ServerObjects } from '../../../src/cluster/objects/server-objects.ts';
import { rfc3339 } from '../../../src/policies/formats/time.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Pod, TokenRequest } from '../../../src/types/kubernetes.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { ScriptedApi } from '../../support/answering-api.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const refusal = (reason: string, status: number) => new ApiError(reason, { status, reason });
const pod = (uid = 'u-1'): Pod => ({
  metadata: { name: 'web', namespace: 'ns', uid },
  spec: { serviceAccountName: 'robot', containers: [{ name: 'main' }] },
});

let clock: VirtualClock;
let api: ScriptedApi;
let objects: ServerObjects;

beforeEach(() => {
  clock = new VirtualClock();
  api = new ScriptedApi();
  objects = new ServerObjects({ api, clock, random: () => 0, logger: silentLogger });
});

/** An answer of the server to each request for a token: token-1, token-2, … */
function issueTokens(lifeSeconds = 3600): void {
  let count = 0;
  api.answer = ({ body }) => {
    count += 1;
    const expirationTimestamp = rfc3339(clock.now() + lifeSeconds * 1000);
    const request = body as TokenRequest;
    return {
      ...request,
      spec: { ...request.spec, expirationSeconds: lifeSeconds },
      status: { token: `token-${count}`, expirationTimestamp },
    };
  };
}

test('pods that are synced at about the same time share one request, and later ones read anew', async () => {
  let color = 'red';
  api.answer = () => ({ data: { color } });
  const read = async () => (await objects.configMap('ns', 'settings'))?.data?.color;
  expect(await Promise.all([read(), read(), read()])).toEqual(['red', 'red', 'red']);
  color = 'blue';
  expect(await read()).toBe('red');
  expect(api.taken()).toEqual(['get /ns/configmaps/settings']);
  await clock.advance(5_000);
  expect(await read()).toBe('blue');
  expect(api.taken()).toEqual(['get /ns/configmaps/settings']);
});

test('an object that does not exist is asked for each time', async () => {
  api.answer = () => {
    throw refusal('NotFound', 404);
  };
  expect(await objects.secret('ns', 'late')).toBeUndefined();
  api.answer = () => ({ data: { key: 'eA==' } });
  expect(await objects.secret('ns', 'late')).toEqual({ data: { key: 'eA==' } });
});

test('what the server forbids right after the binding is tried again, for about a second', async () => {
  let refusals = 2;
  api.answer = () => {
    if (refusals-- > 0) throw refusal('Forbidden', 403);
    return { data: {} };
  };
  const read = objects.secret('ns', 'mine');
  await clock.advance(1_000);
  expect(await read).toEqual({ data: {} });
  refusals = Infinity;
  const refused = expect(objects.secret('ns', 'foreign')).rejects.toMatchObject({ reason: 'Forbidden' });
  await clock.advance(1_000);
  await refused;
});

test('a token is bound to the pod, kept for four fifths of its life, and forgotten with the pod', async () => {
  issueTokens();
  const get = () => objects.token(pod(), { audience: 'vault', expirationSeconds: 3607 });
  expect(await Promise.all([get(), get()])).toEqual(['token-1', 'token-1']);
  expect(api.requests).toMatchObject([
    {
      verb: 'create',
      path: '/api/v1/namespaces/ns/serviceaccounts/robot/token',
      body: {
        kind: 'TokenRequest',
        spec: {
          audiences: ['vault'],
          expirationSeconds: 3607,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u-1' },
        },
      },
    },
  ]);
  await clock.advance(2_880_000);
  expect(await get()).toBe('token-1');
  await clock.advance(1_000);
  expect(await get()).toBe('token-2');
  objects.forgetPod('u-2');
  expect(await get()).toBe('token-2');
  objects.forgetPod('u-1');
  expect(await get()).toBe('token-3');
});

test('a token that cannot be renewed is used until it is no longer valid', async () => {
  issueTokens(600);
  expect(await objects.token(pod(), {})).toBe('token-1');
  api.answer = () => {
    throw new StateletError('Unavailable', 'no answer');
  };
  await clock.advance(590_000);
  expect(await objects.token(pod(), {})).toBe('token-1');
  await clock.advance(11_000);
  await expect(objects.token(pod(), {})).rejects.toMatchObject({
    kind: 'Unavailable',
    message: 'failed to fetch token: no answer',
  });
});

test('a token that comes when its pod is forgotten is not kept', async () => {
  issueTokens();
  const late = objects.token(pod(), {});
  objects.forgetPod('u-1');
  expect(await late).toBe('token-1');
  expect(await objects.token(pod(), {})).toBe('token-2');
});
