/** A plugin with the answers of a test: a real gRPC server on a socket of its own, with both services. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type {
  ActivePodsRequest,
  GetEvictPodsResponse,
  GetTokenResponse,
  GetTopEvictionPodsRequest,
  GetTopEvictionPodsResponse,
  ThresholdMetResponse,
} from '../../src/agent/plugins/protocol/eviction-plugin-messages.ts';
import {
  EVICTION_PLUGIN_SERVICE,
  type PluginInfo,
  REGISTRATION_SERVICE,
  type RegistrationStatus,
} from '../../src/agent/plugins/protocol/service-methods.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

/** `signal` is aborted when the caller gives up. */
type Answering<Q, A> = (request: Q, signal: AbortSignal) => A | Promise<A>;

/** A method that is left out is Unimplemented. */
export interface PluginAnswers {
  readonly getInfo?: Answering<object, PluginInfo>;
  readonly notifyRegistrationStatus?: Answering<RegistrationStatus, object>;
  readonly getToken?: Answering<object, GetTokenResponse>;
  readonly thresholdMet?: Answering<ActivePodsRequest, ThresholdMetResponse<Pod>>;
  readonly getTopEvictionPods?: Answering<GetTopEvictionPodsRequest, GetTopEvictionPodsResponse<Pod>>;
  readonly getEvictPods?: Answering<ActivePodsRequest, GetEvictPodsResponse<Pod>>;
}

function handler<Q, A>(answering: Answering<Q, A> | undefined) {
  const unimplemented = { code: status.UNIMPLEMENTED, details: 'not offered' };
  return (call: ServerUnaryCall<Q, A>, done: sendUnaryData<A>): void => {
    if (answering) void answer(() => answering(call.request, signalOf(call)), done);
    else done(unimplemented);
  };
}

function signalOf(call: ServerUnaryCall<unknown, unknown>): AbortSignal {
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort());
  return controller.signal;
}

/** An error that is thrown is the answer, with its `code` or as Unknown. */
async function answer<A>(answering: () => A | Promise<A>, done: sendUnaryData<A>): Promise<void> {
  try {
    done(null, await answering());
  } catch (error) {
    const { code = status.UNKNOWN, message: details } = error as Error & Partial<ServiceError>;
    done({ code, details });
  }
}

export class PluginServer {
  readonly socketPath: string;
  readonly #server = new Server();
  readonly #dir: string | undefined;

  private constructor(socketPath: string | undefined) {
    this.#dir = socketPath === undefined ? mkdtempSync(join(tmpdir(), 'statelet-plugin-')) : undefined;
    this.socketPath = socketPath ?? join(this.#dir ?? '', 'plugin.sock');
  }

  /** Without `socketPath` in a folder of its own. */
  static async start(answers: PluginAnswers, socketPath?: string): Promise<PluginServer> {
    const plugin = new PluginServer(socketPath);
    plugin.#server.addService(REGISTRATION_SERVICE, {
      getInfo: handler(answers.getInfo),
      notifyRegistrationStatus: handler(answers.notifyRegistrationStatus),
    });
    plugin.#server.addService(EVICTION_PLUGIN_SERVICE, {
      getToken: handler(answers.getToken),
      thresholdMet: handler(answers.thresholdMet),
      getTopEvictionPods: handler(answers.getTopEvictionPods),
      getEvictPods: handler(answers.getEvictPods),
    });
    await plugin.bind(plugin.socketPath);
    return plugin;
  }

  /** Also listens there. */
  bind(socketPath: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const bound = (error: Error | null) => (error ? reject(error) : resolve());
      this.#server.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), bound);
    });
  }

  /** Ends at once. The socket is gone, too. */
  stop(): void {
    this.#server.forceShutdown();
    rmSync(this.#dir ?? this.socketPath, { recursive: true, force: true });
  }
}
