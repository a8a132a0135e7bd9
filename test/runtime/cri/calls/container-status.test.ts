import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as methods from '../../../../src/runtime/cri/messages/methods.ts';
import { answer, FakeRuntime } from '../fake-runtime.ts';

describe('the status of a container that has ended without a run', () => {
  let fake: FakeRuntime;
  beforeEach(() => {
    fake = new FakeRuntime();
  });
  afterEach(() => fake.cleanup());

  const status = (more: object) =>
    answer(methods.CONTAINER_STATUS, ({ containerId }) => ({
      status: {
        id: containerId,
        metadata: { name: 'main', attempt: 0 },
        image: '',
        imageRef: '',
        createdAt: 1,
        startedAt: 1,
        exitCode: 0,
        reason: '',
        message: '',
        labels: {},
        annotations: {},
        logPath: '',
        state: 'CONTAINER_RUNNING' as const,
        finishedAt: 0,
        ...more,
      },
    }));

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
    await fake.serve(status({ ...ended, message }), noneListed);
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
      status({ state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError', message }),
      noneListed,
    );
    expect(await fake.client().containerStatus('c')).toMatchObject({
      state: 'CONTAINER_EXITED',
      exitCode: 128,
      message,
    });
  });
});
