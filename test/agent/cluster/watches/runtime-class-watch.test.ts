import { expect, test } from '@jest/globals';
import { RuntimeClassWatch } from '../../../../src/agent/cluster/watches/runtime-class-watch.ts';
import { runtimeClassesOf } from '../../../../src/agent/policies/cri/sandbox-config.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { ScriptedApi } from '../../../support/scripted-api.ts';

const runtimeClass = (name: string, handler: string) => ({
  metadata: { name, uid: `u-${name}`, resourceVersion: '5' },
  handler,
});

test('the classes of the cluster count before those of the settings, which are known from the start', async () => {
  const clock = new VirtualClock();
  const api = new ScriptedApi();
  const settings = runtimeClassesOf(['gvisor=runsc', 'own=mine']);
  const watch = new RuntimeClassWatch(api, settings, { clock, random: () => 0 });
  expect(Object.fromEntries(watch.handlers)).toEqual({ gvisor: 'runsc', own: 'mine' });

  api.lists.shift()?.answer('9', runtimeClass('gvisor', 'runsc-kvm'), runtimeClass('kata', 'kata'));
  await clock.advance(0);
  expect(Object.fromEntries(watch.handlers)).toEqual({ gvisor: 'runsc-kvm', own: 'mine', kata: 'kata' });

  api.watches[0]?.send('DELETED', runtimeClass('gvisor', 'runsc-kvm'));
  expect(Object.fromEntries(watch.handlers)).toEqual({ gvisor: 'runsc', own: 'mine', kata: 'kata' });

  watch.close();
  expect(api.watches[0]?.isEnded).toBe(true);
});
