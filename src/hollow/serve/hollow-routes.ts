/** What a hollow node serves of itself, as the kubelet does: its health, its pods, and the figures that metrics-server and Prometheus read. */
import type { IncomingMessage } from 'node:http';
import { servedAgent } from '../../agent/actors/served-agent.ts';
import { metricsRoutes } from '../../agent/server/metrics/metrics-routes.ts';
import {
  configurationRoutes,
  healthRoutes,
  podRoutes,
  statsRoutes,
} from '../../agent/server/routes/node-routes.ts';
import { RequestError, type Route } from '../../agent/server/routes/route.ts';
import type { PodLogs } from '../../agent/runtime/stats/stats-provider.ts';
import type { Summary } from '../../types/stats.ts';
import type { HollowAgent } from '../node/hollow-agent.ts';
import type { HollowNode } from '../node/hollow-node.ts';

/** By their paths: the methods that they take, as in `node-routes.ts`; undefined: all. */
const SERVED: Readonly<Record<string, Route['methods']>> = {
  '/configz': undefined,
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
};

export interface HollowRoutesParts {
  /** The node at whose port a request has come. */
  readonly nodeOf: (request: IncomingMessage) => HollowNode | undefined;
  /** The KubeletConfiguration of a node, by its name. */
  readonly configurationOf: (name: string) => object;
}

export function hollowRoutes({ nodeOf, configurationOf }: HollowRoutesParts): readonly Route[] {
  // Made when an agent is first asked: most are never.
  const routes = new WeakMap<HollowAgent, ReadonlyMap<string, Route>>();
  const routesOf = (node: HollowNode | undefined): ReadonlyMap<string, Route> => {
    const agent = node?.agent;
    if (node === undefined || agent === undefined) throw new RequestError(503, 'the node is dead\n');
    const made =
      routes.get(agent) ??
      new Map(agentRoutes(node, agent, configurationOf).map((route) => [route.path, route]));
    routes.set(agent, made);
    return made;
  };
  return Object.entries(SERVED).map(([path, methods]) => ({
    path,
    methods,
    handle: (request, response) => routesOf(nodeOf(request.raw)).get(path)?.handle(request, response),
  }));
}

function agentRoutes(
  { name, machine }: HollowNode,
  hollowAgent: HollowAgent,
  configurationOf: HollowRoutesParts['configurationOf'],
): readonly Route[] {
  const { agent, metrics } = hollowAgent;
  const api = {
    ...servedAgent(agent),
    nodeName: name,
    configuration: () => configurationOf(name),
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
