/** A runtime that answers as a test says, on a real socket. What has no answer is Unimplemented. */
import { silentLogger } from '../../../support/silent-logger.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { testContext } from '../../../support/test-context.ts';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import grpc from '@grpc/grpc-js';
import { createCriRuntime } from '../../../../src/agent/runtime/cri/cri-runtime.ts';
import * as methods from '../../../../src/agent/runtime/cri/messages/methods.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import type { Method } from '../../../../src/system/grpc/method.ts';

/** How one call is answered. */
export type Answer = (server: grpc.Server) => void;

/** `handle` rejects with a `failure` for an error of the runtime. */
export function answer<Q, A>(method: Method<Q, A>, handle: (request: Q) => A | Promise<A>): Answer {
  const { path, request, response } = method;
  const unary: grpc.handleUnaryCall<Q, A> = (call, callback) => {
    void Promise.resolve()
      .then(() => handle(call.request))
      .then(
        (value) => callback(null, value),
        (error: unknown) => callback(error as grpc.ServiceError),
      );
  };
  return (server) => void server.register(path, unary, response.encode, request.decode, 'unary');
}

/** Answers ContainerStatus with a running container named `main`, and these fields. */
export const containerStatus = (more: object): Answer =>
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

export function answerStream<Q, A>(
  { path, request, response }: Method<Q, A>,
  handle: grpc.handleServerStreamingCall<Q, A>,
): Answer {
  return (server) => void server.register(path, handle, response.encode, request.decode, 'serverStream');
}

export const failure = (code: grpc.status, details: string): Error =>
  Object.assign(new Error(details), { code, details });

export class FakeRuntime {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-cri-'));
  readonly endpoint = `unix://${this.dir}/cri.sock`;
  readonly warnings: string[] = [];
  readonly #clients: RuntimeService[] = [];
  #server: grpc.Server | undefined;

  client(requestTimeoutMs = 20_000): RuntimeService {
    const logger = {
      ...silentLogger,
      warn: (_fields: object, message: string) => void this.warnings.push(message),
    };
    const client = createCriRuntime(testContext({ clock: systemClock, logger }), {
      endpoint: this.endpoint,
      requestTimeoutMs,
    });
    this.#clients.push(client);
    return client;
  }

  async serve(...answers: readonly Answer[]): Promise<void> {
    const server = new grpc.Server({ 'grpc.max_send_message_length': -1 });
    for (const register of answers) register(server);
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(this.endpoint, grpc.ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
    this.#server = server;
  }

  /** As a crash would: calls under way are cut off. */
  async crash(): Promise<void> {
    this.#server?.forceShutdown();
    this.#server = undefined;
    await rm(join(this.dir, 'cri.sock'), { force: true });
  }

  async cleanup(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.crash();
    await rm(this.dir, { recursive: true });
  }
}
