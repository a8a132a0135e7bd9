import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { ServerObjects } from '../../../../src/agent/cluster/objects/server-objects.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod, TokenRequest } from '../../../../src/types/kubernetes.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { ScriptedApi } from '../../../support/answering-api.ts';
import { testContext } from '../../../support/test-context.ts';

const refusal = (reason: string, status: number) => new ApiError(reason, { status, reason });
const pod = (uid = 'u-1'): Pod => ({
  metadata: { name: 'web', namespace: 'ns', uid },
  spec: {
    serviceAccountName: 'robot',
    containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'settings' } }] }],
  },
});

let clock: VirtualClock;
let api: ScriptedApi;
let objects: ServerObjects;

const open = (strategy: 'Cache' | 'Get', objectTTLMs: () => number | undefined = () => undefined) =>
  new ServerObjects(testContext({ clock }), {
    api,
    strategy,
    syncFrequencyMs: 60_000,
    objectTTLMs,
  });
const readColor = async () => (await objects.configMap('ns', 'settings'))?.data?.color;

beforeEach(async () => {
  clock = new VirtualClock();
  api = new ScriptedApi();
  api.answer = () => ({ metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'web' } }] });
  objects = open('Get');
  await clock.advance(0);
  expect(api.taken()).toEqual(['list /api/v1/services']);
});

afterEach(() => objects.close());

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

test('the services of the cluster are known as soon as they have been listed', () => {
  expect(objects.services()).toEqual({ listed: true, services: [{ metadata: { name: 'web' }, spec: {} }] });
});

describe('the strategy Get', () => {
  test('reads from the server each time, and keeps nothing', async () => {
    let color = 'red';
    api.answer = () => ({ data: { color } });
    expect(await readColor()).toBe('red');
    color = 'blue';
    expect(await readColor()).toBe('blue');
    expect(api.taken()).toEqual(['get /ns/configmaps/settings', 'get /ns/configmaps/settings']);
    api.answer = () => {
      throw refusal('NotFound', 404);
    };
    expect(await readColor()).toBeUndefined();
  });

  test('tries again what the server forbids right after the binding, for about a second', async () => {
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
});

describe('the strategy Cache', () => {
  let ttlMs: number | undefined;
  const version = (resourceVersion: string, color: string) => ({
    metadata: { resourceVersion },
    data: { color },
  });

  beforeEach(() => {
    objects.close();
    ttlMs = undefined;
    objects = open('Cache', () => ttlMs);
    objects.registerPod(pod('a'));
    api.answer = () => version('5', 'red');
  });

  test('keeps what was read for a minute, or for as long as the cluster wants', async () => {
    await clock.advance(0);
    api.taken();
    expect(await Promise.all([readColor(), readColor()])).toEqual(['red', 'red']);
    api.answer = () => version('6', 'blue');
    await clock.advance(59_999);
    expect(await readColor()).toBe('red');
    await clock.advance(1);
    expect(await readColor()).toBe('blue');
    ttlMs = 0;
    api.answer = () => version('7', 'green');
    expect(await readColor()).toBe('green');
    expect(api.taken()).toEqual(Array.from({ length: 3 }, () => 'get /ns/configmaps/settings'));
  });

  test('reads again for a pod that comes to refer to the object', async () => {
    expect(await readColor()).toBe('red');
    api.answer = () => version('6', 'blue');
    objects.registerPod(pod('a'));
    expect(await readColor()).toBe('red');
    objects.registerPod(pod('b'));
    expect(await readColor()).toBe('blue');
    objects.forgetPod('a');
    objects.forgetPod('b');
    await expect(readColor()).rejects.toThrow('object "ns"/"settings" not registered');
  });

  test('keeps what it has if the server does not answer, and never goes back to an older version', async () => {
    expect(await readColor()).toBe('red');
    ttlMs = 0;
    api.answer = () => {
      throw new StateletError('Unavailable', 'no answer');
    };
    expect(await readColor()).toBe('red');
    api.answer = () => version('4', 'older');
    expect(await readColor()).toBe('red');
    api.answer = () => {
      throw refusal('NotFound', 404);
    };
    expect(await readColor()).toBeUndefined();
    api.answer = () => {
      throw new StateletError('Unavailable', 'no answer');
    };
    expect(await readColor()).toBeUndefined();
    objects.registerPod(pod('b'));
    await expect(readColor()).rejects.toThrow('no answer');
  });
});

test('a service account is requested at each read, and may be missing', async () => {
  api.answer = () => ({ metadata: { uid: 'u-robot', annotations: { role: 'reader' } } });
  expect(await objects.serviceAccount('ns', 'robot')).toMatchObject({ metadata: { uid: 'u-robot' } });
  expect(api.taken()).toEqual(['get /ns/serviceaccounts/robot']);
  api.answer = () => {
    throw refusal('NotFound', 404);
  };
  expect(await objects.serviceAccount('ns', 'robot')).toBeUndefined();
  api.answer = () => {
    throw refusal('InternalError', 500);
  };
  await expect(objects.serviceAccount('ns', 'robot')).rejects.toMatchObject({ reason: 'InternalError' });
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
