/** A server at the socket of a root folder, with the routes that a test gives it. */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenOnControlSocket } from '../../src/agent/server/control-socket.ts';
import { Router } from '../../src/agent/server/node/router.ts';
import { serveRoutes } from '../../src/agent/server/node/serve-routes.ts';
import { answer, answerJSON, RequestError, type Route } from '../../src/agent/server/routes/route.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { ServedPod } from '../../src/types/served-pod.ts';

/** Of a daemon whose pods do not change, and cannot be changed. */
export const NO_MANIFESTS = {
  pods: (): readonly ServedPod[] => [],
  onPodChange: () => () => undefined,
  objects: () => [],
  deleteObject: () => Promise.resolve(),
  manifestBytesMax: 0,
  applyManifest: () => Promise.reject(new Error('this is not asked for')),
};

export interface OwnerSocket {
  readonly rootDir: string;
  close(): Promise<void>;
}

export async function ownerSocket(routes: readonly Route[], pods: readonly Pod[] = []): Promise<OwnerSocket> {
  const rootDir = await mkdtemp(join(tmpdir(), 'statelet-socket-'));
  const items = pods.map(({ metadata, spec, status = {} }) => ({ metadata, spec, status }));
  const router = new Router([
    ...routes,
    { path: '/healthz', handle: (_, response) => answer(response, 200, 'ok') },
    { path: '/pods', handle: (_, response) => answerJSON(response, { kind: 'PodList', items }) },
  ]);
  const server = createServer();
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  const notFound = new RequestError(404, 'not found\n');
  serveRoutes(server, { find: ({ path }) => router.find(path), notFound });
  const close = await listenOnControlSocket(server, rootDir);
  return {
    rootDir,
    close: async () => {
      // The server does not close connections that were upgraded.
      for (const socket of sockets) socket.destroy();
      await close();
      await rm(rootDir, { recursive: true });
    },
  };
}

/** A pod as a source passes it to its node. */
export function podOnNode(name: string, namespace = 'default', more: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name: `${name}-node-a`, namespace, uid: `uid-${name}` },
    spec: { nodeName: 'Node-A', containers: [{ name: 'main' }], ...more },
  };
}
