/** Settings that Katalyst's objects have for a node, by a server of such objects alone. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ClusterSettings } from '../../../../src/agent/actors/plugins/cluster-settings.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { adminQoS, customNodeConfig } from '../../../support/katalyst-objects.ts';
import { KatalystApi } from '../../../support/katalyst-api.ts';
import { refusal } from '../../../support/node-api.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const CONFIG = { resource: 'customnodeconfigs', name: 'node-1' } as const;
const QOS = { resource: 'adminqosconfigurations', namespace: 'katalyst', name: 'all' } as const;
const OTHER = { ...QOS, name: 'other' } as const;

let api: KatalystApi;
let clock: VirtualClock;
let cluster: ClusterSettings;
let log: ReturnType<typeof recordingLogger>;
let changes: number;

beforeEach(() => {
  api = new KatalystApi();
  clock = new VirtualClock();
  log = recordingLogger();
  changes = 0;
  cluster = new ClusterSettings(testContext({ clock, logger: log.logger }), {
    ...{ api, nodeName: 'node-1', wantsUsers: true },
  });
});

afterEach(async () => {
  cluster.stop();
  await settled();
  expect(clock.armed).toBe(0);
});

const start = async () => {
  cluster.start(() => (changes += 1));
  await settled();
};
const reads = () => api.requests.filter((request) => request.startsWith('get'));
const told = () => log.lines.map(({ level, message }) => `${level} ${message}`);

const DEFINITION = {
  resource: 'customresourcedefinitions',
  name: 'customnodeconfigs.config.katalyst.kubewharf.io',
} as const;

test('if their definition is not installed, it is watched, and the settings apply once it exists', async () => {
  api.isInstalled = false;
  await start();
  const definitions = 'list /apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  expect(api.requests).toEqual(['discover customnodeconfigs', definitions, definitions]);
  api.put(QOS, adminQoS({ dryRun: ['new'] }));
  api.put(CONFIG, customNodeConfig(QOS, 'h1'));
  const defined = (status: string) => ({ status: { conditions: [{ type: 'Established', status }] } });
  api.put(DEFINITION, {});
  api.put(DEFINITION, defined('False'));
  await settled();
  expect(cluster.config).toBeUndefined();
  api.put(DEFINITION, defined('True'));
  await settled();
  expect(cluster.config?.evictionConfig).toEqual({ dryRun: ['new'] });
});

test('if the definition may not be read, no other request is sent', async () => {
  api.isInstalled = false;
  api.fault = (request) => {
    if (request.startsWith('list')) throw refusal('Forbidden');
  };
  await start();
  await clock.advance(24 * 3_600_000);
  expect([api.requests.length, cluster.config, told()]).toEqual([2, undefined, []]);
});

test('a request without an answer is repeated, and one that the server refuses is not', async () => {
  let failures = 2;
  api.fault = () => {
    if ((failures -= 1) >= 0) throw new StateletError('Unavailable', 'no answer');
    throw refusal('Forbidden');
  };
  await start();
  await clock.advance(5_000);
  await clock.advance(10_000);
  await clock.advance(3_600_000);
  expect(api.requests).toEqual([
    ...Array.from({ length: 3 }, () => 'discover customnodeconfigs'),
    'list /apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ]);
});

test('the settings of the object for this node apply, and are read again when its hash changes', async () => {
  api.put(QOS, adminQoS({ dryRun: ['new'] }));
  api.put(CONFIG, customNodeConfig(QOS, 'h1'));
  await start();
  expect(cluster.config).toEqual({
    evictionConfig: { dryRun: ['new'] },
    origin: 'AdminQoSConfiguration katalyst/all',
  });
  // The controller of Katalyst says when a change is for this node: it rolls changes out.
  api.put(QOS, adminQoS({ dryRun: ['*'] }));
  await settled();
  expect([cluster.config?.evictionConfig, changes, reads()]).toEqual([
    { dryRun: ['new'] },
    1,
    ['get /apis/config.katalyst.kubewharf.io/v1alpha1/namespaces/katalyst/adminqosconfigurations/all'],
  ]);
  api.put(CONFIG, customNodeConfig(QOS, 'h2'));
  await settled();
  expect([cluster.config?.evictionConfig, changes]).toEqual([{ dryRun: ['*'] }, 2]);
});

test('without an object for the node nothing is set', async () => {
  api.put(QOS, adminQoS({ dryRun: ['new'] }));
  api.put(CONFIG, customNodeConfig(QOS, 'h1'));
  await start();
  api.remove(CONFIG);
  await settled();
  expect([cluster.config, changes]).toEqual([undefined, 2]);
});

test('while it cannot be read, the last values apply; the read is tried again, and the problem logged once', async () => {
  api.put(QOS, adminQoS({ dryRun: ['new'] }));
  api.put(CONFIG, customNodeConfig(QOS, 'h1'));
  await start();
  api.put(CONFIG, customNodeConfig(OTHER, 'h2'));
  await settled();
  await clock.advance(90_000);
  const problem = 'AdminQoSConfiguration katalyst/other cannot be read: the server says NotFound';
  expect([cluster.config?.evictionConfig, cluster.problem, told()]).toEqual([
    { dryRun: ['new'] },
    problem,
    [`warn Eviction plugins: settings of the cluster cannot be followed: ${problem}`],
  ]);
  api.put(OTHER, adminQoS({ dryRun: ['other'] }));
  await clock.advance(30_000);
  expect([cluster.config?.evictionConfig, cluster.problem]).toEqual([{ dryRun: ['other'] }, undefined]);
});

test('users of an AuthConfiguration that is for the node are known; one that is not valid changes nothing', async () => {
  const AUTH = { resource: 'authconfigurations', namespace: 'katalyst', name: 'users' } as const;
  const users = (password: string) => ({
    spec: { config: { basicAuthConfig: { userPasswordPairs: [{ username: 'rss', password }] } } },
  });
  api.put(AUTH, users('c2VjcmV0'));
  api.put(CONFIG, customNodeConfig(AUTH, 'h1'));
  await start();
  expect([cluster.users?.passwords.get('rss'), changes]).toEqual(['secret', 0]);
  api.put(AUTH, users('?'));
  api.put(CONFIG, customNodeConfig(AUTH, 'h2'));
  await settled();
  expect([cluster.users?.passwords.get('rss'), cluster.problem]).toEqual([
    'secret',
    'AuthConfiguration katalyst/users cannot be read: basicAuthConfig.userPasswordPairs[0].password must be the base64 of a password that is not empty',
  ]);
});
