import { testContext } from '../../../../support/test-context.ts';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import grpc from '@grpc/grpc-js';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import type { ErrorKind, StateletError } from '../../../../../src/types/errors.ts';
import { PATIENCE_MS, waitFor } from '../../../../support/wait-for.ts';
import { answer, failure, FakeRuntime } from '../fake-runtime.ts';
import { podConfig } from '../../../../support/runtime-configs.ts';

const VERSION = { runtimeName: 'fake', runtimeVersion: '1.0.0', runtimeApiVersion: 'v1' };
const never = () => new Promise<never>(() => undefined);
const errorOf = (call: Promise<unknown>): Promise<StateletError> =>
  call.then(
    () => Promise.reject(new Error('the call succeeded')),
    (error: unknown) => error as StateletError,
  );

describe('a call to a runtime', () => {
  let fake: FakeRuntime;
  beforeEach(() => {
    fake = new FakeRuntime();
  });
  afterEach(() => fake.cleanup());

  describe('that hangs', () => {
    test('fails with DeadlineExceeded, with the names of the call and the runtime', async () => {
      await fake.serve(
        answer(methods.LIST_IMAGES, never),
        answer(methods.EXEC_SYNC, () => ({ stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), exitCode: 7 })),
      );
      const client = fake.client(500);
      const error = await errorOf(client.listImages());
      expect(error.kind).toBe('DeadlineExceeded');
      expect(error.message).toContain(`${fake.endpoint} has not answered ListImages within 0.5 s`);
      // The next call has its own timeout in addition: a busy machine may need longer than half a second.
      expect((await client.execSync('c', ['true'], PATIENCE_MS / 1000)).exitCode).toBe(7);
    });

    test('lets the runtime stop a container in the longest time that it knows, not in a longer one', async () => {
      const asked: number[] = [];
      await fake.serve(
        answer(methods.STOP_CONTAINER, ({ timeout }) => {
          asked.push(timeout);
          return {};
        }),
      );
      const client = fake.client();
      for (const seconds of [30, 2 ** 63]) await client.stopContainer('c', seconds);
      // A Duration of Go has 63 bits of nanoseconds.
      expect(asked).toEqual([30, Number((2n ** 63n - 1n) / 10n ** 9n)]);
    });

    test.each([
      ['RunPodSandbox gets twice the time', methods.RUN_POD_SANDBOX, 'within 0.1 s'],
      ['StopContainer gets its own timeout in addition', methods.STOP_CONTAINER, 'within 1.05 s'],
      ['ExecSync gets its own timeout in addition', methods.EXEC_SYNC, 'within 1.05 s'],
    ] as const)('%s', async (_name, method, limit) => {
      await fake.serve(answer(method as typeof methods.STOP_CONTAINER, never));
      const client = fake.client(50);
      const calls = {
        RunPodSandbox: () => client.runPodSandbox(podConfig(fake.dir)),
        StopContainer: () => client.stopContainer('c', 1),
        ExecSync: () => client.execSync('c', ['true'], 1),
      };
      const error = await errorOf(calls[method.name as keyof typeof calls]());
      expect([error.kind, error.message]).toEqual(['DeadlineExceeded', expect.stringContaining(limit)]);
    });

    test('can be aborted', async () => {
      let asked = false;
      await fake.serve(answer(methods.PULL_IMAGE, () => ((asked = true), never())));
      const abort = new AbortController();
      const pulled = errorOf(fake.client().pullImage('image', { signal: abort.signal }));
      await waitFor(() => asked, { what: 'the call to arrive' });
      abort.abort();
      expect((await pulled).kind).toBe('Canceled');
    });

    test('ends when the client is closed, and later calls fail with that reason', async () => {
      let asked = false;
      await fake.serve(answer(methods.VERSION, () => ((asked = true), never())));
      const client = fake.client();
      const called = errorOf(client.version());
      await waitFor(() => asked, { what: 'the call to arrive' });
      await client.close();
      expect((await called).kind).toBe('Unavailable');
      expect((await errorOf(client.version())).message).toContain('was closed');
    });
  });

  const KINDS: [grpc.status, ErrorKind][] = [
    [grpc.status.CANCELLED, 'Canceled'],
    [grpc.status.UNKNOWN, 'Unknown'],
    [grpc.status.INVALID_ARGUMENT, 'InvalidArgument'],
    [grpc.status.DEADLINE_EXCEEDED, 'DeadlineExceeded'],
    [grpc.status.NOT_FOUND, 'NotFound'],
    [grpc.status.ALREADY_EXISTS, 'AlreadyExists'],
    [grpc.status.PERMISSION_DENIED, 'PermissionDenied'],
    [grpc.status.RESOURCE_EXHAUSTED, 'ResourceExhausted'],
    [grpc.status.FAILED_PRECONDITION, 'FailedPrecondition'],
    [grpc.status.ABORTED, 'Aborted'],
    [grpc.status.OUT_OF_RANGE, 'OutOfRange'],
    [grpc.status.UNIMPLEMENTED, 'Unimplemented'],
    [grpc.status.INTERNAL, 'Internal'],
    [grpc.status.UNAVAILABLE, 'Unavailable'],
    [grpc.status.DATA_LOSS, 'DataLoss'],
    [grpc.status.UNAUTHENTICATED, 'Unauthenticated'],
  ];

  test.each(KINDS)('keeps code %d of gRPC as kind %s, with the message', async (code, kind) => {
    const refuse = () => Promise.reject(failure(code, 'what the runtime says'));
    await fake.serve(answer(methods.LIST_IMAGES, refuse));
    const error = await errorOf(fake.client().listImages());
    expect([error.kind, error.message]).toEqual([kind, expect.stringContaining('what the runtime says')]);
  });

  test('takes an answer of nearly 16 MiB; a larger one is ResourceExhausted, not a broken connection', async () => {
    const exec = (size: number) => ({ stdout: Buffer.alloc(size), stderr: Buffer.alloc(0), exitCode: 0 });
    await fake.serve(answer(methods.EXEC_SYNC, ({ cmd }) => exec(Number(cmd[0]))));
    const client = fake.client();
    const size = 16 * 1024 * 1024 - 100;
    const { stdout } = await client.execSync('c', [String(size)], 0);
    expect(stdout.length).toBe(10 * 1024);
    // No view of the answer, which would keep all of it.
    expect(stdout.buffer.byteLength).toBeLessThan(100_000);
    const error = await errorOf(client.execSync('c', [String(size + 200)], 0));
    expect([error.kind, error.message]).toEqual(['ResourceExhausted', expect.stringContaining('ExecSync')]);
    expect((await client.execSync('c', ['3'], 0)).stdout.length).toBe(3);
  });

  test('to a missing socket fails at once, and the message names it and what to check', async () => {
    const error = await errorOf(fake.client().version());
    expect(error.kind).toBe('Unavailable');
    expect(error.message).toContain(fake.endpoint);
    expect(error.message).toContain('Check that it runs');
  });

  test('works again when the runtime is back', async () => {
    const version = answer(methods.VERSION, () => VERSION);
    const client = fake.client();
    await fake.serve(version);
    await client.version();
    await fake.crash();
    expect((await errorOf(client.version())).kind).toBe('Unavailable');
    await fake.serve(version);
    const again = await waitFor(() => client.version().catch(() => undefined), { what: 'the connection' });
    expect(again).toEqual(VERSION);
  });

  test('to a runtime that is still restoring its state is Unavailable and can be repeated', async () => {
    const starting = failure(grpc.status.UNKNOWN, 'server is not initialized yet');
    await fake.serve(answer(methods.LIST_CONTAINERS, () => Promise.reject(starting)));
    const error = await errorOf(fake.client().listContainers());
    expect([error.kind, error.retriable]).toEqual(['Unavailable', true]);
  });

  test('to a server that is no runtime fails with what may be wrong', async () => {
    const details = 'unknown service runtime.v1.RuntimeService';
    const refuse = () => Promise.reject(failure(grpc.status.UNIMPLEMENTED, details));
    await fake.serve(answer(methods.VERSION, refuse));
    const error = await errorOf(fake.client().version());
    expect([error.kind, error.message]).toEqual([
      'Unimplemented',
      expect.stringContaining('disabled_plugins'),
    ]);
  });

  test('needs a unix socket as its endpoint', async () => {
    const { createCriRuntime } = await import('../../../../../src/agent/runtime/cri/cri-runtime.ts');
    const create = () => createCriRuntime(testContext(), { endpoint: 'tcp://host:1', requestTimeoutMs: 1 });
    expect(create).toThrow('unix:///run/containerd/containerd.sock');
  });
});
