/**
 * What a hollow node serves of itself, as the kubelet does: its health, its pods, its settings, and the figures that metrics-server and Prometheus
 * read. Profiles and the verbosity of the log are those of the process, of all nodes together.
 */
import type { IncomingMessage } from 'node:http';
import { servedAgent } from '../../agent/actors/served-agent.ts';
import { metricsRoutes } from '../../agent/server/metrics/metrics-routes.ts';
import type { NodeApi } from '../../agent/server/routes/node-api.ts';
import {
  configurationRoutes,
  healthRoutes,
  podRoutes,
  statsRoutes,
  verbosityRoutes,
} from '../../agent/server/routes/node-routes.ts';
import { profileRoutes } from '../../agent/server/routes/profile-routes.ts';
import { RequestError, type Route } from '../../agent/server/routes/route.ts';
import { statusPageRoutes } from '../../agent/server/routes/status-page-routes.ts';
import { systemClock } from '../../system/timer.ts';
import type { PodLogs } from '../../agent/runtime/stats/stats-provider.ts';
import type { Summary } from '../../types/stats.ts';
import type { HollowAgent } from '../node/hollow-agent.ts';
import type { HollowNode } from '../node/hollow-node.ts';

/** By their paths: the methods that they take, as in `node-routes.ts`; undefined: all. */
const SERVED: Readonly<Record<string, Route['methods']>> = {
  '/configz': undefined,
  '/flagz': undefined,
  '/healthz': undefined,
  '/healthz/device-plugin': undefined,
  '/healthz/log': undefined,
  '/healthz/ping': undefined,
  '/healthz/syncloop': undefined,
  '/pods': ['GET'],
  '/runningpods/': ['GET'],
  '/stats/summary': ['GET', 'POST'],
  '/metrics': undefined,
  '/metrics/cadvisor': undefined,
  '/metrics/probes': undefined,
  '/metrics/resource': undefined,
  '/metrics/slis': undefined,
  '/statusz': undefined,
};

/** Of the process. */
export interface ServedSettings extends Pick<NodeApi, 'setVerbosity'> {
  /** The KubeletConfiguration of all nodes, but for their ports. */
  readonly configuration: object;
  /** The flags of all nodes, but for their names and ports. */
  readonly flags: Readonly<Record<string, string>>;
}

export interface HollowRoutesParts {
  /** The node at whose port a request has come. */
  readonly nodeOf: (request: IncomingMessage) => HollowNode | undefined;
  readonly portOf: (node: string) => number | undefined;
  readonly settings: ServedSettings;
}

export function hollowRoutes(parts: HollowRoutesParts): readonly Route[] {
  const { nodeOf, settings } = parts;
  const alive = (request: IncomingMessage) => {
    const node = nodeOf(request);
    if (node?.agent === undefined) throw new RequestError(503, 'the node is dead\n');
    return { node, agent: node.agent };
  };
  // Made when an agent is first asked: most are never.
  const routes = new WeakMap<HollowAgent, ReadonlyMap<string, Route>>();
  const routesOf = (request: IncomingMessage): ReadonlyMap<string, Route> => {
    const { node, agent } = alive(request);
    const made =
      routes.get(agent) ?? new Map(agentRoutes(node, agent, parts).map((route) => [route.path, route]));
    routes.set(agent, made);
    return made;
  };
  const ofNodes = Object.entries(SERVED).map(([path, methods]): Route => ({
    path,
    methods,
    handle: (request, response) => routesOf(request.raw).get(path)?.handle(request, response),
  }));
  const ofProcess = [...verbosityRoutes(settings), ...profileRoutes(systemClock)].map((route): Route => {
    const handle: Route['handle'] = (request, response) => {
      alive(request.raw);
      return route.handle(request, response);
    };
    return { ...route, handle };
  });
  return [...ofNodes, ...ofProcess];
}

function agentRoutes(
  { name, machine }: HollowNode,
  hollowAgent: HollowAgent,
  { portOf, settings }: HollowRoutesParts,
): readonly Route[] {
  const { agent, metrics } = hollowAgent;
  const port = portOf(name);
  const api = {
    ...servedAgent(agent),
    nodeName: name,
    configuration: () => ({ ...settings.configuration, port }),
    flags: () => ({ ...settings.flags, 'hostname-override': name, port: String(port) }),
    cgroupVersion: () => undefined,
    summary: async ({ onlyCPUAndMemory }: { readonly onlyCPUAndMemory: boolean }) =>
      machine.use.summary(onlyCPUAndMemory ? undefined : await hollowAgent.claimFigures()),
    groupFigures: () => Promise.resolve(machine.groups()),
    machine: () => Promise.resolve(machine.measured()),
    claimFigures: async () => [...(await hollowAgent.claimFigures()).values()].flat(),
    logFigures: () => Promise.resolve(logFigures(machine.use.summary())),
    metricsProvider: 'cri' as const,
    claimedVolume: () => undefined,
    agentCounters: metrics,
    certificateEnds: () => ({ client: undefined, serving: undefined }),
  };
  return [
    ...configurationRoutes(api),
    ...statusPageRoutes(api, systemClock),
    ...healthRoutes(api),
    ...podRoutes(api),
    ...statsRoutes(api),
    ...metricsRoutes(api),
  ];
}

function logFigures({ pods }: Summary): readonly PodLogs[] {
  return pods.map(({ podRef, containers = [] }) => ({
    pod: podRef,
    used: new Map(containers.map(({ name, logs }) => [name, { usedBytes: logs?.usedBytes ?? 0 }])),
  }));
}
