/** Which ports of the node's server are opened. */
import { NODE_PORT } from '../types/node-settings.ts';
import type { StateletConfig } from './config.ts';

type PortSettings = Pick<StateletConfig, 'server' | 'cluster'>;

/** Of HTTPS. Several daemons without a cluster can run side by side on one machine: there it is opened only where it is asked for. */
export function securePort({ server, cluster }: PortSettings): number | undefined {
  return server.port ?? (cluster.kubeconfig === '' ? undefined : NODE_PORT);
}

export function opensPorts(config: PortSettings): boolean {
  const { enableServer, readOnlyPort } = config.server;
  return enableServer && (securePort(config) !== undefined || readOnlyPort !== 0);
}
