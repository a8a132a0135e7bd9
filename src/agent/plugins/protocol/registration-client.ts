import { GrpcClient } from '../../../system/grpc/grpc-client.ts';
import {
  GET_INFO,
  NOTIFY_REGISTRATION_STATUS,
  type PluginInfo,
  type RegistrationStatus,
} from './service-methods.ts';

export interface RegistrationClient {
  getInfo(signal: AbortSignal): Promise<PluginInfo>;
  notifyRegistrationStatus(status: RegistrationStatus, signal: AbortSignal): Promise<void>;
  /** Questions under way reject. */
  close(): void;
}

/** Asks what listens on a socket of the folder of plugins. */
export function registrationClient(socketPath: string): RegistrationClient {
  const client = new GrpcClient('plugin', socketPath);
  return {
    getInfo: (signal) => client.call(GET_INFO, {}, signal),
    notifyRegistrationStatus: async (status, signal) => {
      await client.call(NOTIFY_REGISTRATION_STATUS, status, signal);
    },
    close: () => client.close(),
  };
}
