import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import grpc from '@grpc/grpc-js';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import type { StateletError } from '../../../../../src/types/errors.ts';
import { answer, containerStatus, failure, FakeRuntime } from '../fake-runtime.ts';
import { containerConfig, podConfig } from '../../../../support/runtime-configs.ts';

const errorOf = (call: Promise<unknown>): Promise<StateletError> =>
  call.then(
    () => Promise.reject(new Error('the call succeeded')),
    (error: unknown) => error as StateletError,
  );

describe('the state of the container or sandbox tells what a vague error means:', () => {
  let fake: FakeRuntime;
  beforeEach(() => {
    fake = new FakeRuntime();
  });
  afterEach(() => fake.cleanup());

  const vague =
    (details = 'vague') =>
    () =>
      Promise.reject(failure(grpc.status.UNKNOWN, details));
  const missing = () => Promise.reject(failure(grpc.status.NOT_FOUND, 'a part is missing'));

  test('a start that fails keeps its error, although the container is exited then', async () => {
    const { promise: started, resolve } = Promise.withResolvers<number>();
    const start = answer(methods.START_CONTAINER, () => (resolve(Date.now()), vague()()));
    const fail = answer(methods.CONTAINER_STATUS, async () => {
      const finishedAt = (await started) * 1e6;
      return { status: { ...(await wire(finishedAt)) } };
    });
    await fake.serve(start, fail);
    expect((await errorOf(fake.client().startContainer('c'))).kind).toBe('Unknown');
  });

  const wire = (finishedAt: number) =>
    Promise.resolve({
      id: 'c',
      metadata: { name: 'main', attempt: 0 },
      image: '',
      imageRef: '',
      createdAt: 1,
      startedAt: 1,
      exitCode: 128,
      reason: 'StartError',
      message: '',
      labels: {},
      annotations: {},
      logPath: '',
      state: 'CONTAINER_EXITED' as const,
      finishedAt,
    });

  test('the start of a container that had ended before is FailedPrecondition', async () => {
    const ended = { state: 'CONTAINER_EXITED', finishedAt: (Date.now() - 1000) * 1e6 };
    await fake.serve(answer(methods.START_CONTAINER, vague()), containerStatus(ended));
    expect((await errorOf(fake.client().startContainer('c'))).kind).toBe('FailedPrecondition');
  });

  test('a command in a running container keeps the kind of its error', async () => {
    await fake.serve(answer(methods.EXEC_SYNC, vague('no such program')), containerStatus({}));
    const error = await errorOf(fake.client().execSync('c', ['x'], 0));
    expect([error.kind, error.message]).toEqual(['Unknown', 'no such program']);
  });

  test('a missing image is no missing sandbox', async () => {
    const sandbox = podConfig(fake.dir);
    const ready = answer(methods.POD_SANDBOX_STATUS, ({ podSandboxId: id }) => ({
      status: {
        id,
        metadata: sandbox.metadata,
        state: 'SANDBOX_READY' as const,
        createdAt: 1,
        labels: {},
        annotations: {},
      },
    }));
    await fake.serve(answer(methods.CREATE_CONTAINER, vague('no image')), ready);
    const error = await errorOf(fake.client().createContainer('s', containerConfig(['true']), sandbox));
    expect([error.kind, error.message]).toEqual(['Unknown', 'no image']);
  });

  test('NotFound is an error of a stop if the container still runs', async () => {
    await fake.serve(answer(methods.STOP_CONTAINER, missing), containerStatus({}));
    expect((await errorOf(fake.client().stopContainer('c', 1))).message).toBe('a part is missing');
  });

  test('if the state cannot be read, the error stays unchanged', async () => {
    await fake.serve(answer(methods.EXEC_SYNC, vague()), answer(methods.CONTAINER_STATUS, vague('another')));
    expect((await errorOf(fake.client().execSync('c', ['x'], 0))).message).toBe('vague');
  });
});
