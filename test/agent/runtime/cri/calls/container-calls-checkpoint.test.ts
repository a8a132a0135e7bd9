import grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import { answer, failure, FakeRuntime } from '../fake-runtime.ts';

const REQUEST = { containerId: 'c1', location: '/checkpoints/c1.tar', timeoutSeconds: 7 };

let fake: FakeRuntime;
beforeEach(() => {
  fake = new FakeRuntime();
});
afterEach(() => fake.cleanup());

test('the runtime gets container, path and time limit', async () => {
  const heard: object[] = [];
  const hear = answer(methods.CHECKPOINT_CONTAINER, (request) => {
    heard.push(request);
    return {};
  });
  await fake.serve(hear);
  await fake.client().checkpointContainer?.(REQUEST);
  expect(heard).toEqual([{ containerId: 'c1', location: '/checkpoints/c1.tar', timeout: 7 }]);
});

test('the error has the words of the runtime as its cause', async () => {
  const details = 'method CheckpointContainer not implemented';
  const refuse = answer(methods.CHECKPOINT_CONTAINER, () => {
    throw failure(grpc.status.UNIMPLEMENTED, details);
  });
  await fake.serve(refuse);
  await expect(fake.client().checkpointContainer?.(REQUEST)).rejects.toMatchObject({
    kind: 'Unimplemented',
    cause: { details },
  });
});

test('without a time limit of its own the usual one holds, else its own', async () => {
  const never = answer(methods.CHECKPOINT_CONTAINER, () => new Promise<object>(() => undefined));
  await fake.serve(never);
  const usual = fake.client(50).checkpointContainer?.({ ...REQUEST, timeoutSeconds: 0 });
  await expect(usual).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
  const own = fake.client(3_600_000).checkpointContainer?.({ ...REQUEST, timeoutSeconds: 1 });
  await expect(own).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
});
