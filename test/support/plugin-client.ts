/** A gRPC client of plugins: what an agent asks, with a library that is not the agent's own client. */
import grpc, { type MethodDefinition } from '@grpc/grpc-js';

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
}

export class PluginClient {
  readonly #client: grpc.Client;

  constructor(socket: string) {
    this.#client = new grpc.Client(`unix:${socket}`, grpc.credentials.createInsecure(), {
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 20,
      'grpc.max_reconnect_backoff_ms': 100,
    });
  }

  /** Rejects with grpc-js's ServiceError, which has `code` and `details`. */
  ask<Q, A>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Q, A>,
    request: Q,
    { signal, deadlineMs }: AskOptions = {},
  ): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
    const call = this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new grpc.Metadata({ waitForReady: deadlineMs === undefined }),
      options,
      (error, answer) => {
        if (error === null && answer !== undefined) resolve(answer);
        else reject(error ?? new Error('no answer'));
      },
    );
    signal?.addEventListener('abort', () => call.cancel(), { once: true });
    return promise;
  }

  close(): void {
    this.#client.close();
  }
}
