/** The HTTPS server of all hollow nodes: the API server calls it for logs, exec and attach. */
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { makeSelfSigned, selfSignedFiles } from '../../agent/cluster/credentials/certificate-store.ts';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { reviewAccess, reviewToken } from '../../agent/cluster/service/reviews.ts';
import { NodeServer } from '../../agent/server/node/node-server.ts';
import { pairOfFiles } from '../../agent/server/node/tls-material.ts';
import { containerLogRoutes } from '../../agent/server/routes/container-logs.ts';
import { streamingRoutes } from '../../agent/server/streaming/streaming-routes.ts';
import { replaceFile } from '../../system/replace-file.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import { errorMessage } from '../../types/errors.ts';
import type { ConfigMap } from '../../types/kubernetes.ts';
import type { ServerSettings } from '../../types/node-settings.ts';
import type { HollowNode } from '../node/hollow-node.ts';
import { hollowRoutes, type ServedSettings } from './hollow-routes.ts';
import { NodePorts } from './node-ports.ts';
import { servedNodes } from './served-nodes.ts';

export interface HollowServerParts {
  readonly settings: ServerSettings;
  /** Of this process: certificate and logs. */
  readonly rootDir: string;
  readonly api: ApiServer;
  /** Of all nodes that there will be. */
  readonly names: readonly string[];
  readonly nodes: ReadonlyMap<string, HollowNode>;
  readonly served: ServedSettings;
}

export interface HollowServer {
  /** By the name of the node. */
  readonly ports: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** Rejects with `FailedPrecondition` where the port cannot be bound, or certificate, key or client CA cannot be used. */
export async function openHollowServer(
  context: AgentContext,
  parts: HollowServerParts,
): Promise<HollowServer> {
  const { settings, rootDir, api, nodes, names } = parts;
  const ended = new AbortController();
  const timing = { ...context, signal: ended.signal };
  const streaming = servedNodes({
    nodes: () => nodes.values(),
    logsDir: join(rootDir, 'logs'),
    streamingIdleMs: settings.streamingConnectionIdleTimeoutMs,
  });
  const ports = new NodePorts(settings);
  const nameOf = ({ socket }: IncomingMessage) => ports.nameOf(socket.localPort);
  const server = await NodeServer.open(context, {
    nodeOf: nameOf,
    settings: { ...settings, clientCAFile: settings.clientCAFile || (await clientCA(context, rootDir, api)) },
    port: settings.port ?? 0,
    routes: [
      ...containerLogRoutes(streaming),
      ...streamingRoutes(streaming),
      ...hollowRoutes({
        nodeOf: (request) => nodes.get(nameOf(request)),
        portOf: (name) => ports.all.get(name),
        settings: parts.served,
      }),
    ],
    certificate: await certificateOf(context, parts),
    reviews: {
      token: (token) => reviewToken(api, token, timing),
      access: (user, attributes) => reviewAccess(api, user, attributes, timing),
    },
  });
  const close = async () => {
    ended.abort();
    ports.close();
    await server.close();
  };
  try {
    await ports.open(server, names);
    return { ports: ports.all, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function certificateOf(
  { clock }: AgentContext,
  { settings, rootDir }: HollowServerParts,
): Promise<ReturnType<typeof pairOfFiles>> {
  const { tlsCertFile, tlsPrivateKeyFile } = settings;
  if (tlsCertFile !== '') return pairOfFiles(tlsCertFile, tlsPrivateKeyFile);
  const certDir = join(rootDir, 'pki');
  await makeSelfSigned({ certDir, hostName: 'hollow', now: clock.now() });
  const { cert, key } = selfSignedFiles(certDir);
  return pairOfFiles(cert, key);
}

const READ_LIMIT_MS = 10_000;

/** The file of the CA by which the API server knows its clients, which also signs its own certificate for nodes in most clusters. Empty: none. */
async function clientCA({ logger }: AgentContext, rootDir: string, api: ApiServer): Promise<string> {
  try {
    const { data } = await api.get<ConfigMap>(
      { resource: 'configmaps', namespace: 'kube-system', name: 'extension-apiserver-authentication' },
      { timeoutMs: READ_LIMIT_MS },
    );
    const ca = data?.['client-ca-file'];
    if (ca !== undefined) {
      const file = join(rootDir, 'client-ca.crt');
      await replaceFile(file, ca, { mode: 0o644 });
      return file;
    }
    logger.warn(
      {},
      'The API server names no client CA: without --client-ca-file it gets no logs and no exec',
    );
  } catch (error) {
    logger.warn(
      {},
      `The client CA cannot be read: without --client-ca-file the API server gets no logs and no exec: ${errorMessage(error)}`,
    );
  }
  return '';
}
