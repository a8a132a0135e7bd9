/** When tokens are asked for anew: at a time that is known, not when something else makes the pod sync. */
import { beforeEach, expect, test } from '@jest/globals';
import { PodTokens } from '../../../../src/agent/cluster/objects/pod-tokens.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod, TokenRequest } from '../../../../src/types/kubernetes.ts';
import { noAnswer, ScriptedApi } from '../../../support/answering-api.ts';
import { testContext } from '../../../support/test-context.ts';

const pod = (uid = 'u-1'): Pod => ({
  metadata: { name: `web-${uid}`, namespace: 'ns', uid },
  spec: { serviceAccountName: 'robot', containers: [{ name: 'main' }] },
});

let clock: VirtualClock;
let api: ScriptedApi;
let tokens: PodTokens;
let begun: number;
/** By how much the clock of the server is ahead of this machine's. */
let skewMs: number;
let random: number;
let told: [seconds: number, uid: string][];

beforeEach(() => {
  clock = new VirtualClock();
  begun = clock.now();
  [skewMs, random, told] = [0, 0, []];
  api = new ScriptedApi();
  api.answer = issue;
  tokens = new PodTokens(testContext({ clock, random: () => random }), api, (uid) =>
    told.push([(clock.now() - begun) / 1000, uid]),
  );
});

function issue({ body }: { readonly body?: unknown }): TokenRequest {
  const request = body as TokenRequest;
  const expirationSeconds = request.spec.expirationSeconds ?? 3600;
  const expirationTimestamp = rfc3339(clock.now() + skewMs + expirationSeconds * 1000);
  const status = { token: `token-${api.requests.length}`, expirationTimestamp };
  const metadata = { creationTimestamp: rfc3339(clock.now() + skewMs) };
  return { ...request, metadata, spec: { ...request.spec, expirationSeconds }, status };
}

const get = (expirationSeconds?: number, of = pod()) =>
  tokens.get(of, expirationSeconds === undefined ? {} : { expirationSeconds });
const seconds = () => told.map(([at]) => Math.round(at));

test('a token is due after four fifths of its life, and requested again then', async () => {
  expect(await get(600)).toBe('token-1');
  await clock.advance(480_000);
  expect(told).toEqual([]);
  expect(await get(600)).toBe('token-1');
  await clock.advance(1);
  expect(told).toEqual([[480.001, 'u-1']]);
  expect(await get(600)).toBe('token-2');
  await clock.advance(480_001);
  expect(seconds()).toEqual([480, 960]);
});

test('tokens are not due at the same time, but up to ten seconds earlier', async () => {
  random = 0.999;
  await get(600);
  await clock.advance(600_000);
  expect(seconds()).toEqual([471]);
});

test('a token that is valid for longer than a day is due after a day', async () => {
  await get(10 * 86_400);
  await clock.advance(90_000_000);
  expect(seconds()).toEqual([86_400]);
});

test('of several tokens of a pod each is due by itself, and only for its own pod', async () => {
  await Promise.all([get(600), get(1200), get(900, pod('u-2'))]);
  await clock.advance(3_600_000);
  expect(told.map(([at, uid]) => [Math.round(at), uid])).toEqual([
    [480, 'u-1'],
    [720, 'u-2'],
    [960, 'u-1'],
  ]);
});

test('one timer serves all tokens, and without tokens there is none', async () => {
  expect(clock.armed).toBe(0);
  await Promise.all(['u-1', 'u-2', 'u-3'].map((uid) => get(600, pod(uid))));
  expect(clock.armed).toBe(1);
  for (const uid of ['u-1', 'u-2', 'u-3']) tokens.forgetPod(uid);
  expect(clock.armed).toBe(0);
});

test('a renewal that failed is tried again while the token is valid, which is used meanwhile', async () => {
  await get(600);
  api.answer = () => {
    throw noAnswer();
  };
  await clock.advance(481_000);
  for (const at of [480, 511, 541, 571]) {
    expect(seconds().at(-1)).toBe(at);
    expect(await get(600)).toBe('token-1');
    await clock.advance(30_000);
  }
  await expect(get(600)).rejects.toMatchObject({
    kind: 'Unavailable',
    message: 'failed to fetch token: connect ECONNREFUSED',
  });
  await clock.advance(600_000);
  expect(seconds()).toHaveLength(5);
  expect(clock.armed).toBe(0);
});

test.each([
  ['ahead of', -3_600_000],
  ['behind', 3_600_000],
])('a token lives as long by a clock that is an hour %s that of the server', async (_, ahead) => {
  skewMs = ahead;
  expect(await get(600)).toBe('token-1');
  await clock.advance(479_000);
  expect(told).toEqual([]);
  expect(await get(600)).toBe('token-1');
  await clock.advance(1_001);
  expect(seconds()).toEqual([480]);
  api.answer = () => Promise.reject(noAnswer());
  // It is valid for two minutes more.
  await clock.advance(60_000);
  expect(await get(600)).toBe('token-1');
  await clock.advance(61_000);
  await expect(get(600)).rejects.toThrow(/^failed to fetch token: /);
});

test('tokens that have expired when they arrive do not lead to requests without pause', async () => {
  api.answer = (request) => ({ ...issue(request), metadata: {} });
  skewMs = -3_600_000;
  for (let count = 1; count <= 5; count += 1) {
    expect(await get(600)).toBe(`token-${count}`);
    await clock.advance(30_000);
    expect(seconds()).toHaveLength(count);
  }
});

test('a token that the server does not limit is never due', async () => {
  api.answer = (request) => {
    const { spec, ...rest } = issue(request);
    return { ...rest, spec: { ...spec, expirationSeconds: undefined } };
  };
  await get();
  await clock.advance(10 * 86_400_000);
  expect(told).toEqual([]);
});

test('nothing is due any more once the tokens are closed', async () => {
  await get(600);
  tokens.close();
  expect(clock.armed).toBe(0);
});
