/** What the owner of the root folder may do with hollow nodes while they run: list them, kill them, start them. */
import { listenOnControlSocket } from '../../agent/server/control-socket.ts';
import { boundedServer } from '../../agent/server/listen.ts';
import { Router } from '../../agent/server/node/router.ts';
import { serveRoutes } from '../../agent/server/node/serve-routes.ts';
import { answerJSON, RequestError, type Route } from '../../agent/server/routes/route.ts';
import type { HollowNode } from '../node/hollow-node.ts';

/** As `statelet hollow list` shows it. */
export interface ListedNode {
  readonly name: string;
  readonly state: 'running' | 'dead';
  readonly pods: number;
}

export const HOLLOW_ACTIONS = ['kill', 'start', 'restart'] as const;
export type HollowAction = (typeof HOLLOW_ACTIONS)[number];

/** Returns its close function. Rejects with the system's error. */
export function openHollowControl(
  rootDir: string,
  nodes: ReadonlyMap<string, HollowNode>,
): Promise<() => Promise<void>> {
  const router = new Router([
    {
      path: '/nodes',
      methods: ['GET'],
      handle: (_request, response) => answerJSON(response, [...nodes.values()].map(listed)),
    },
    ...HOLLOW_ACTIONS.map((action) => actionRoute(action, nodes)),
  ]);
  const server = boundedServer();
  serveRoutes(server, {
    find: ({ path }) => router.find(path),
    notFound: new RequestError(404, 'no such path: hollow nodes are served here\n'),
  });
  return listenOnControlSocket(server, rootDir);
}

function actionRoute(action: HollowAction, nodes: ReadonlyMap<string, HollowNode>): Route {
  return {
    path: `/nodes/:name/${action}`,
    methods: ['POST'],
    handle: ({ params: { name = '' } }, response) => {
      const node = nodes.get(name);
      if (node === undefined) throw new RequestError(404, `there is no hollow node "${name}"\n`);
      node[action]();
      answerJSON(response, listed(node));
    },
  };
}

function listed({ name, agent }: HollowNode): ListedNode {
  if (agent === undefined) return { name, state: 'dead', pods: 0 };
  return { name, state: 'running', pods: [...agent.agent.supervisor.desired.pods()].length };
}
