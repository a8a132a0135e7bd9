/** A folder for sockets of plugins, and plugins of the kit in this process. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import grpc, { type MethodDefinition } from '@grpc/grpc-js';
import {
  type EvictionPluginDefinition,
  type RunningEvictionPlugin,
  startEvictionPlugin,
} from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';

export class KitBed {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-kit-'));
  readonly registryDir = join(this.dir, 'plugins_registry');
  /** The log of the plugins, without the time. */
  readonly log: string[] = [];
  readonly #plugins: RunningEvictionPlugin[] = [];
  readonly #clients: PluginClient[] = [];

  constructor() {
    mkdirSync(this.registryDir);
  }

  async start(definition: Partial<EvictionPluginDefinition> = {}): Promise<RunningEvictionPlugin> {
    const whole = { name: 'chooser', evictPods: () => undefined, ...definition };
    const plugin = await startEvictionPlugin(whole, {
      registryDir: this.registryDir,
      handleSignals: false,
      log: (line) => this.log.push(line.replace(/^\S+ /u, '')),
    });
    this.#plugins.push(plugin);
    return plugin;
  }

  connect({ socket }: { readonly socket: string }): PluginClient {
    const client = new PluginClient(socket);
    this.#clients.push(client);
    return client;
  }

  async cleanUp(): Promise<void> {
    for (const client of this.#clients) client.close();
    await Promise.all(this.#plugins.map(async (plugin) => plugin.stop()));
    rmSync(this.dir, { recursive: true });
  }
}

interface AskOptions {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
}

/** The calls of an agent, with a library that is not the agent's own client. */
class PluginClient {
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
