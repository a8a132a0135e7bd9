import { expect, test } from '@jest/globals';
import { StateletError } from '../../../src/types/errors.ts';
import { bound, clock, manager, measurements, server, told } from './status-writer-bed.ts';

test('a status is measured from its change to when the API server has it, also where that did not answer at first', async () => {
  server.before = () => {
    throw new StateletError('Unavailable', 'connect ECONNREFUSED');
  };
  const pod = bound('web');
  manager.set(pod, { phase: 'Running' });
  await clock.advance(0);
  manager.set(pod, { phase: 'Running', message: 'changed again' });
  await clock.advance(0);
  expect(measurements.told).toEqual(['status begins']);
  server.before = () => undefined;
  await clock.advance(60_000);
  expect(server.patches).toHaveLength(1);
  expect(measurements.told).toEqual(['status begins', 'status ends']);
});

test('a status that changes while one is being written is measured by itself', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const pod = bound('web');
  server.before = () => promise;
  manager.set(pod, { phase: 'Running' });
  await clock.advance(0);
  manager.set(pod, { phase: 'Running', message: 'changed again' });
  await clock.advance(0);
  expect(measurements.told).toEqual(['status begins']);
  resolve(undefined);
  await clock.advance(0);
  expect(server.patches).toHaveLength(2);
  expect(measurements.told).toEqual(['status begins', 'status ends', 'status begins', 'status ends']);
});

test('a pod that was forgotten is measured anew', async () => {
  const pod = bound('web');
  server.before = () => {
    throw new StateletError('Unavailable', 'connect ECONNREFUSED');
  };
  manager.set(pod, { phase: 'Running' });
  await clock.advance(0);
  manager.forget(pod.metadata.uid);
  told.forget(pod.metadata.uid);
  manager.set(pod, { phase: 'Pending' });
  expect(measurements.told).toEqual(['status begins', 'status begins']);
});
