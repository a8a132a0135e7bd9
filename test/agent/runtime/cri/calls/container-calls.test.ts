import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import { answer, containerStatus, FakeRuntime } from '../fake-runtime.ts';

describe('the status of a container that has ended without a run', () => {
  let fake: FakeRuntime;
  beforeEach(() => {
    fake = new FakeRuntime();
  });
  afterEach(() => fake.cleanup());

  const noneListed = answer(methods.LIST_CONTAINERS, () => ({ containers: [] }));

  test('is CREATED if the start was cancelled before the process was created', async () => {
    const message = 'failed to create containerd task: failed to create shim task: context canceled: unknown';
    const ended = {
      state: 'CONTAINER_EXITED',
      startedAt: 0,
      finishedAt: 9,
      exitCode: 128,
      reason: 'StartError',
    };
    await fake.serve(containerStatus({ ...ended, message }), noneListed);
    expect(await fake.client().containerStatus('c')).toMatchObject({
      state: 'CONTAINER_CREATED',
      finishedAt: 0,
      exitCode: 0,
      reason: '',
      message: '',
    });
  });

  test('is EXITED if the start failed for another reason', async () => {
    const message = 'failed to create containerd task: no such program';
    await fake.serve(
      containerStatus({ state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError', message }),
      noneListed,
    );
    expect(await fake.client().containerStatus('c')).toMatchObject({
      state: 'CONTAINER_EXITED',
      exitCode: 128,
      message,
    });
  });
});
