import { systemClock } from '../../../../src/system/timer.ts';
import { testContext } from '../../../support/test-context.ts';
import grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createCriRuntime } from '../../../../src/agent/runtime/cri/cri-runtime.ts';
import * as methods from '../../../../src/agent/runtime/cri/messages/methods.ts';
import type { StreamingRuntime } from '../../../../src/agent/runtime/service/streaming-runtime.ts';
import { startContainerd } from '../../../support/containerd/containerd.ts';
import { startRegistry } from '../../../support/containerd/registry.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../../support/containerd/suite.ts';
import { type RuntimeBed, runtimeContract } from '../runtime-contract.ts';
import { streamingContract } from '../streaming-contract.ts';
import { type Answer, answer, containerStatus, failure, FakeRuntime } from './fake-runtime.ts';
import { HOST_SANDBOX, hostContainer } from './support.ts';

describeWithContainerd('CRI', () => {
  runtimeContract('containerd', containerdRuntime, SET_UP_TIMEOUT_MS);
  streamingContract('containerd', containerdRuntime, SET_UP_TIMEOUT_MS);
});

async function containerdRuntime(): Promise<RuntimeBed> {
  const containerd = await startContainerd();
  const registry = await startRegistry();
  const runtime = createCriRuntime(testContext({ clock: systemClock }), {
    endpoint: containerd.endpoint,
    requestTimeoutMs: 20_000,
  });
  const cleanup = async (): Promise<void> => {
    for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id);
    await runtime.close();
    await registry.stop();
    await containerd.stop();
  };
  return {
    runtime,
    cleanup,
    sandbox: HOST_SANDBOX,
    image: await registry.push('busybox:1'),
    container: hostContainer(containerd.image),
  };
}

const streams = { stdin: true, stdout: true, stderr: true, tty: false };

describe('a client of a runtime with a streaming server', () => {
  let fake: FakeRuntime;
  beforeEach(() => {
    fake = new FakeRuntime();
  });
  afterEach(() => fake.cleanup());

  const streaming = (): StreamingRuntime => {
    const runtime = fake.client();
    if (!runtime.streaming) throw new Error('a CRI runtime has streams');
    return runtime.streaming;
  };
  const answerUrl = (url: string) => answer(methods.EXEC, () => ({ url }));
  const execAgainst = async (...answers: readonly Answer[]) => {
    await fake.serve(...answers);
    return streaming().exec({ containerId: 'c', command: ['sh'], ...streams });
  };

  test('sends the request unchanged, and gets the URL of each kind of stream', async () => {
    const asked: object[] = [];
    const tell = (name: string) => (request: object) => {
      asked.push(request);
      return { url: `http://localhost:1/${name}` };
    };
    await fake.serve(
      answer(methods.EXEC, tell('exec')),
      answer(methods.ATTACH, tell('attach')),
      answer(methods.PORT_FORWARD, tell('portforward')),
    );
    const client = streaming();
    const requests = [
      { containerId: 'c1', command: ['ls', '-l'], stdin: true, stdout: true, stderr: false, tty: true },
      { containerId: 'c2', stdin: false, stdout: true, stderr: true, tty: false },
      { podSandboxId: 's', ports: [80, 65535] },
    ] as const;
    const answers = [
      await client.exec(requests[0]),
      await client.attach(requests[1]),
      await client.portForward(requests[2]),
    ];
    expect(asked).toEqual(requests);
    expect(answers).toEqual(
      ['exec', 'attach', 'portforward'].map((name) => ({ url: new URL(`http://localhost:1/${name}`) })),
    );
  });

  test('gets no URL where the runtime gives none', async () => {
    await expect(execAgainst(answerUrl(''))).rejects.toMatchObject({
      kind: 'Internal',
      message: 'Exec: URL is not set',
    });
  });

  test.each(['/exec/Tb3x_secret', 'unix:///run/x_secret', 'http://', 'file://h/x_secret'])(
    'gets an error for %s, which does not repeat the token',
    async (url) => {
      const error = await execAgainst(answerUrl(url)).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ kind: 'Internal', message: expect.stringContaining('Exec') });
      expect(String(error)).not.toContain('secret');
    },
  );

  test('gets FailedPrecondition for a container that has ended', async () => {
    const vague = () =>
      Promise.reject(failure(grpc.status.UNKNOWN, 'container is in CONTAINER_EXITED state'));
    const ended = containerStatus({ state: 'CONTAINER_EXITED' });
    await expect(execAgainst(answer(methods.EXEC, vague), ended)).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: 'container is in CONTAINER_EXITED state',
    });
  });

  test('gets NotFound for a container that is unknown', async () => {
    const missing = () => Promise.reject(failure(grpc.status.NOT_FOUND, 'an error occurred'));
    await expect(
      execAgainst(answer(methods.EXEC, missing), answer(methods.CONTAINER_STATUS, missing)),
    ).rejects.toMatchObject({ kind: 'NotFound' });
  });

  test('gets ResourceExhausted where too many requests are open', async () => {
    const full = () =>
      Promise.reject(failure(grpc.status.RESOURCE_EXHAUSTED, 'maximum number of in-flight requests'));
    await expect(execAgainst(answer(methods.EXEC, full))).rejects.toMatchObject({
      kind: 'ResourceExhausted',
    });
  });

  test('learns why a port of a sandbox cannot be forwarded', async () => {
    const vague = () => Promise.reject(failure(grpc.status.UNKNOWN, 'sandbox container is not running'));
    const status = answer(methods.POD_SANDBOX_STATUS, () => ({ status: sandboxStatus }));
    await fake.serve(answer(methods.PORT_FORWARD, vague), status);
    await expect(streaming().portForward({ podSandboxId: 's', ports: [] })).rejects.toMatchObject({
      kind: 'FailedPrecondition',
    });
  });
});

const sandboxStatus = {
  id: 's',
  metadata: { name: 'p', uid: 'u', namespace: 'n', attempt: 0 },
  state: 'SANDBOX_NOTREADY' as const,
  createdAt: 1,
  labels: {},
  annotations: {},
};
