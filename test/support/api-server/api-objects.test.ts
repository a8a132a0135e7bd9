/** The objects that the double stores when a client sends them, on a store alone. */
import { expect, test } from '@jest/globals';
import { ApiStore } from '../../../src/simulation/api/api-store.ts';
import { ApiObjects } from './api-objects.ts';
import { LOOPBACK } from './bootstrap.ts';
import { typeOf } from './served-types.ts';

test('a generation of nothing, as clients send it in protocol buffers, is not stored', () => {
  const objects = new ApiObjects({
    store: new ApiStore<string>(),
    now: () => Date.now(),
    serviceAccounts: false,
  });
  const type = typeOf('runtimeclasses.node.k8s.io');
  const sent = { metadata: { name: 'runc', generation: 0, labels: { kept: 'yes' } }, handler: 'runc' };
  objects.create({ type, namespace: undefined }, sent, { user: LOOPBACK });
  const { metadata } = objects.get({ type, namespace: undefined, name: 'runc' });
  expect(metadata).not.toHaveProperty('generation');
  expect(metadata.labels).toEqual({ kept: 'yes' });
});
