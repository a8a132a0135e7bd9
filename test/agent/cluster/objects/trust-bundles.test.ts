import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TrustBundles } from '../../../../src/agent/cluster/objects/trust-bundles.ts';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { ScriptedApi } from '../../../support/answering-api.ts';
import { testContext } from '../../../support/test-context.ts';

const BETA = 'list /apis/certificates.k8s.io/v1beta1/clustertrustbundles';
const GA = BETA.replace('v1beta1', 'v1');
const ALPHA = BETA.replace('v1beta1', 'v1alpha1');
const NAMED = { name: 'web', path: 'ca.pem' };

let clock: VirtualClock;
let api: ScriptedApi;
let changed: string[];
let bundles: TrustBundles;
let served: string;

beforeEach(() => {
  clock = new VirtualClock();
  api = new ScriptedApi();
  changed = [];
  served = 'v1beta1';
  api.answer = ({ path }) => {
    if (!path.includes(`/${served}/`)) throw new ApiError('no', { status: 404, reason: 'NotFound' });
    const metadata = { name: 'web', uid: 'b-1', resourceVersion: '5' };
    return { metadata: { resourceVersion: '7' }, items: [{ metadata, spec: { trustBundle: 'PEM' } }] };
  };
  bundles = new TrustBundles(testContext({ clock }), api, (uids) => void changed.push(...uids));
});
afterEach(() => bundles.close());

const read = async (uid = 'u-1') => (await bundles.select(uid, NAMED)).map(({ spec }) => spec.trustBundle);

test('no request is sent until a pod uses bundles, and then one for all pods', async () => {
  expect(api.taken()).toEqual([]);
  expect(await Promise.all([read('u-1'), read('u-2')])).toEqual([['PEM'], ['PEM']]);
  expect(await read('u-3')).toEqual(['PEM']);
  await clock.advance(0);
  expect(api.taken()).toEqual([GA, BETA, BETA]);
  expect(changed).toEqual([]);
});

test('when no pod uses bundles any more they are forgotten, and read anew for the next one', async () => {
  await read('u-1');
  await read('u-2');
  await clock.advance(0);
  api.taken();
  bundles.forgetPod('u-1');
  await read('u-2');
  expect(api.taken()).toEqual([]);
  bundles.forgetPod('u-2');
  await read('u-3');
  expect(api.taken()).toEqual([GA, BETA, BETA]);
});

test('a server without bundles gets a request for each version, and again after a minute', async () => {
  served = 'none';
  const why =
    'ClusterTrustBundle projection is not supported: the API server does not serve clustertrustbundles';
  await expect(read()).rejects.toThrow(why);
  await expect(read()).rejects.toThrow(why);
  expect(api.taken()).toEqual([GA, BETA, ALPHA]);
  await clock.advance(60_000);
  served = 'v1alpha1';
  expect(await read()).toEqual(['PEM']);
});

test('a server that does not answer gets a request again at the next try', async () => {
  const { answer } = api;
  api.answer = () => {
    throw new ApiError('busy', { status: 503, reason: 'ServiceUnavailable' });
  };
  await expect(read()).rejects.toThrow('busy');
  api.answer = answer;
  expect(await read()).toEqual(['PEM']);
});
