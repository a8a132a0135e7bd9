/** An eviction plugin as other languages write it: a gRPC server of grpc-js with both services on one unix socket. */
import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import type { PluginInfo, RegistrationStatus } from '../../src/plugins/protocol/registration-messages.ts';
import { EVICTION_PLUGIN_SERVICE, REGISTRATION_SERVICE } from '../../src/plugins/protocol/service-methods.ts';
import { RSS_INFO } from './fake-registration.ts';

export interface GrpcPlugin {
  /** What it was told. */
  readonly told: readonly RegistrationStatus[];
  /** Calls of GetInfo that wait for an answer. */
  readonly hanging: () => number;
  /** Also listens there. */
  bind(path: string): Promise<void>;
  /** Ends at once, and removes its sockets unless they were moved. */
  stop(): void;
}

export interface GrpcPluginOptions {
  /** Undefined: GetInfo is never answered. */
  readonly info?: () => Partial<PluginInfo> | undefined;
}

export async function grpcPlugin(path: string, options: GrpcPluginOptions = {}): Promise<GrpcPlugin> {
  const { info = () => ({}) } = options;
  const told: RegistrationStatus[] = [];
  let hanging = 0;
  const server = new Server();
  server.addService(REGISTRATION_SERVICE, {
    getInfo: (call: ServerUnaryCall<unknown, PluginInfo>, answer: sendUnaryData<PluginInfo>) => {
      const own = info();
      if (own === undefined) {
        hanging += 1;
        call.on('cancelled', () => (hanging -= 1));
      } else {
        answer(null, { ...RSS_INFO, ...own });
      }
    },
    notifyRegistrationStatus: (
      { request }: ServerUnaryCall<RegistrationStatus, object>,
      answer: sendUnaryData<object>,
    ) => {
      told.push(request);
      answer(null, {});
    },
  });
  server.addService(EVICTION_PLUGIN_SERVICE, {
    getToken: (_: unknown, answer: sendUnaryData<object>) => answer(null, { token: 'token' }),
    thresholdMet: (_: unknown, answer: sendUnaryData<object>) => answer(null, {}),
    getTopEvictionPods: (_: unknown, answer: sendUnaryData<object>) => answer(null, {}),
    getEvictPods: (_: unknown, answer: sendUnaryData<object>) => answer(null, { evictPods: [] }),
  });
  const bind = (to: string) =>
    new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${to}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  await bind(path);
  return { told, hanging: () => hanging, bind, stop: () => server.forceShutdown() };
}
