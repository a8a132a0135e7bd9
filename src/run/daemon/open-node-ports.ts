/** Opens the ports of a node for its cluster and for everyone. Loaded only where one is wanted. */
import { join } from 'node:path';
import { makeSelfSigned, selfSignedFiles } from '../../agent/cluster/credentials/certificate-store.ts';
import { reviewAccess, reviewToken } from '../../agent/cluster/service/reviews.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import { securePort } from '../../agent/config/load-server-settings.ts';
import type { Cluster } from './join-cluster.ts';
import { NodeServer, type NodeServerParts, type Reviews } from '../../agent/server/node/node-server.ts';
import { pairOfFiles } from '../../agent/server/node/tls-material.ts';
import type { Route } from '../../agent/server/routes/route.ts';
import type { AgentContext } from '../../types/agent-context.ts';

export interface NodePorts {
  readonly config: StateletConfig;
  readonly cluster: Pick<Cluster, 'serving' | 'openReviews'> | undefined;
  readonly routes: readonly Route[];
}

export interface OpenNodePorts {
  /** Of HTTPS, as it was bound. */
  readonly port: number | undefined;
  close(): Promise<void>;
}

/** Rejects with `FailedPrecondition` where a port cannot be bound, or certificate, key or client CA cannot be used. */
export async function openNodePorts(
  context: AgentContext,
  { config, cluster, routes }: NodePorts,
): Promise<OpenNodePorts> {
  const { server: settings, nodeName } = config;
  const port = securePort(config);
  const reviews = port === undefined ? undefined : cluster?.openReviews();
  const ended = new AbortController();
  const closeReviews = () => {
    ended.abort();
    reviews?.close();
  };
  const timing = { ...context, signal: ended.signal };
  const asks: Reviews | undefined = reviews && {
    token: (token) => reviewToken(reviews.main, token, timing),
    access: (user, attributes) => reviewAccess(reviews.main, user, attributes, timing),
  };
  try {
    const server = await NodeServer.open(context, {
      nodeOf: () => nodeName,
      settings,
      port,
      routes,
      certificate: await certificateOf(context, config, cluster, port),
      reviews: asks,
    });
    return {
      port: server.port,
      close: async () => {
        closeReviews();
        await server.close();
      },
    };
  } catch (error) {
    closeReviews();
    throw error;
  }
}

async function certificateOf(
  { clock }: AgentContext,
  { server, cluster: { certDir }, rootDir, nodeName }: StateletConfig,
  cluster: NodePorts['cluster'],
  port: number | undefined,
): Promise<NodeServerParts['certificate']> {
  const serving = cluster?.serving;
  if (serving) return () => Promise.resolve(serving.current());
  const { tlsCertFile, tlsPrivateKeyFile } = server;
  if (tlsCertFile !== '') return pairOfFiles(tlsCertFile, tlsPrivateKeyFile);
  const folder = certDir || join(rootDir, 'pki');
  if (port !== undefined) await makeSelfSigned({ certDir: folder, hostName: nodeName, now: clock.now() });
  const { cert, key } = selfSignedFiles(folder);
  return pairOfFiles(cert, key);
}
