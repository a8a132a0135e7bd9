import { expect, test } from '@jest/globals';
import {
  configTarget,
  evictionConfigOf,
} from '../../../../src/agent/policies/eviction-plugins/katalyst-config.ts';
import { adminQoS, customNodeConfig } from '../../../support/katalyst-objects.ts';

const QOS = { resource: 'adminqosconfigurations', namespace: 'katalyst', name: 'all' } as const;

test('the object for a node is the one that its CustomNodeConfig names', () => {
  expect(configTarget(customNodeConfig(QOS, 'h'), QOS.resource)).toEqual({ ...QOS, hash: 'h' });
  expect(configTarget(customNodeConfig(QOS, 'h'), 'authconfigurations')).toBeUndefined();
});

test.each([
  ['no object', undefined],
  ['no status', { spec: {} }],
  ['no list', { status: { katalystCustomConfigList: 'all' } }],
  ['entries that are none', { status: { katalystCustomConfigList: [null, 1, {}] } }],
  ['an object without a name', customNodeConfig({ ...QOS, name: '' }, 'h')],
])('if the CustomNodeConfig is %s, no object is for the node', (_, config) => {
  expect(configTarget(config, QOS.resource)).toBeUndefined();
});

test.each([
  ['an object', adminQoS({ dryRun: ['a'] }), { dryRun: ['a'] }],
  ['something else', { spec: { config: { evictionConfig: 'all' } } }, {}],
  ['nothing', undefined, {}],
])('of %s only an object counts', (_, object, config) => {
  expect(evictionConfigOf(object)).toEqual(config);
});
