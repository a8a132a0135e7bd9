import { expect, test } from '@jest/globals';
import { ServiceWatch } from '../../../../src/agent/cluster/watches/service-watch.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { ScriptedApi } from '../../../support/scripted-api.ts';
import { testContext } from '../../../support/test-context.ts';

const service = (name: string) => ({
  metadata: { name, namespace: 'ns', uid: `u-${name}`, resourceVersion: '5' },
  spec: { clusterIP: '10.0.0.1' },
});

test('services are unknown until they have been listed, and then follow the server', async () => {
  const clock = new VirtualClock();
  const api = new ScriptedApi();
  const watch = new ServiceWatch(testContext({ clock }), api);
  expect(watch.known).toEqual({ listed: false, services: [] });
  expect(api.lists).toMatchObject([
    { collection: { resource: 'services' }, options: { fieldSelector: 'spec.clusterIP!=None' } },
  ]);

  api.lists[0]?.answer('9', service('web'));
  await clock.advance(0);
  expect(watch.known).toEqual({ listed: true, services: [service('web')] });

  api.watches[0]?.send('DELETED', service('web'));
  expect(watch.known).toEqual({ listed: true, services: [] });

  watch.close();
  expect(api.watches[0]?.isEnded).toBe(true);
});
