/** What becomes of a pod of the API server that does not hold, up to its status. */
import { expect, test } from '@jest/globals';
import { apiPod } from '../../../src/agent/sources/api-source.ts';
import { SimulatedAgent } from '../../support/simulated-agent.ts';

const broken = apiPod({
  metadata: { name: 'web', namespace: 'default', uid: 'u-1' },
  spec: { nodeName: 'node-1', containers: [] },
}).pod!;

test('it is rejected with what is wrong, and is forgotten when it is gone', async () => {
  const simulated = new SimulatedAgent();
  simulated.host.sources.create('api', broken);
  await simulated.until(() => simulated.status('u-1')?.phase === 'Failed', 'the rejection');
  expect(simulated.status('u-1')).toMatchObject({
    reason: 'FailedValidation',
    message: 'Pod was rejected: spec.containers: must have at least 1 item',
  });
  simulated.host.sources.remove('web');
  await simulated.untilState('u-1', '');
  expect(await simulated.running()).toEqual([]);
});
