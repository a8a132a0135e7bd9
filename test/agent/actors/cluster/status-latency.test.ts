import { expect, test } from '@jest/globals';
import { StateletError } from '../../../../src/types/errors.ts';
import type { ContainerStatus } from '../../../../src/types/kubernetes.ts';
import { bound, clock, desired, manager, measurements, server, told } from './status-writer-bed.ts';

const status = (more: Pick<ContainerStatus, 'name' | 'state'>): ContainerStatus => ({
  ...{ image: '', imageID: '', ready: false, restartCount: 0 },
  ...more,
});

test('the time from a change of a status to its arrival at the API server is measured, also if the server did not answer at first', async () => {
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

test('a pod that was forgotten and is added again is measured from the start', async () => {
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

test('a pod has started when the API server knows that all its containers run', async () => {
  const createdAt = new Date(clock.now() - 3_000).toISOString();
  const plain = bound('web');
  const pod = { ...plain, metadata: { ...plain.metadata, creationTimestamp: createdAt } };
  server.put(pod);
  desired.set(pod);
  const running = (name: string) => ({ name, state: { running: { startedAt: createdAt } } });
  const waiting = (name: string) => ({ name, state: { waiting: { reason: 'ContainerCreating' } } });
  const started = () => measurements.told.filter((line) => line.includes('started'));
  manager.set(pod, {
    phase: 'Pending',
    containerStatuses: [status(running('a')), status(waiting('b'))],
  });
  await clock.advance(0);
  expect(started()).toEqual([]);
  manager.set(pod, { phase: 'Running', containerStatuses: [status(running('a')), status(running('b'))] });
  await clock.advance(0);
  expect(started()).toEqual(['uid-of-web started: 3000 ms']);
});
