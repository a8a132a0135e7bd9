/** All that a daemon serves: at the socket of its root folder, at the ports of its node, and its page. */
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import { servedPods, withOwnCpus } from '../../agent/actors/pods/served-pods.ts';
import { EMBEDDED } from '../../agent/config/config.ts';
import { opensPorts } from '../../agent/config/load-server-settings.ts';
import type { SummaryOptions } from '../../agent/runtime/stats/stats-provider.ts';
import { Endpoints } from '../../agent/server/endpoints.ts';
import type { PodResourcesSocket } from '../../agent/server/pod-resources/pod-resources-socket.ts';
import type { Route } from '../../agent/server/routes/route.ts';
import type { Node } from '../../types/kubernetes.ts';
import { NODE_PORT } from '../../types/node-settings.ts';
import type { DaemonStats } from './daemon-stats.ts';
import type { OpenNodePorts } from './open-node-ports.ts';
import type { DaemonParts } from './daemon-parts.ts';
import type { AgentFacts } from './own-node.ts';

const NO_CERTIFICATES = { client: undefined, serving: undefined };

export interface DaemonServerOptions {
  readonly own: DaemonParts;
  readonly agent: NodeAgent;
  readonly stats: DaemonStats;
  readonly setVerbosity: (level: number) => void;
  readonly logsTransitions: boolean;
}

export class DaemonServer {
  readonly #options: DaemonServerOptions;
  #endpoints: Endpoints | undefined;
  #ports: OpenNodePorts | undefined;
  #podResources: PodResourcesSocket | undefined;
  #nodeRoutes: Promise<readonly Route[]> | undefined;

  constructor(options: DaemonServerOptions) {
    this.#options = options;
  }

  /** Of the endpoints, as `host:port`; undefined when they are served at the socket alone. */
  get address(): string | undefined {
    return this.#endpoints?.address;
  }

  /** The socket, the address of `--healthz` and the page of `--ui`, where there are such. */
  async openEndpoints(): Promise<void> {
    const { own, agent, stats } = this.#options;
    const { healthz, rootDir, nodeName } = own.config;
    const { supervisor, statusManager } = agent;
    const sources = {
      health: () => agent.health(),
      pods: () => withOwnCpus(servedPods(supervisor.registry, statusManager), agent.holders),
      eviction: () => agent.explainEviction(),
      summary: async (options: SummaryOptions) => (await stats.provider()).summary(options),
    };
    this.#endpoints = await Endpoints.open(own.context, {
      rootDir,
      nodeName,
      address: healthz,
      sources,
      nodeRoutes: async () => [...(await this.#routesOfOwner()), ...(await this.#routesOfNode())],
    });
    await own.page.open(agent, own.events);
  }

  /** Opens the node's ports. Code is loaded only for what is opened. */
  async openPorts(): Promise<void> {
    const { context, config, cluster } = this.#options.own;
    if (!opensPorts(config)) return;
    const { openNodePorts } = await import('./open-node-ports.ts');
    const routes = await this.#routesOfNode();
    this.#ports = await openNodePorts(context, { config, cluster, routes });
  }

  /** What the node object is made from. */
  agentFacts(): AgentFacts {
    const { own, agent } = this.#options;
    const { facts, parts, config } = own;
    const { runtime, devices } = parts;
    return {
      runtime,
      facts,
      conditions: () => agent.nodeFacts().conditions,
      health: () => agent.nodeHealth(),
      devices: devices && (() => devices.resources()),
      volumesInUse: () => agent.csi?.volumesInUse(),
      port: this.#ports?.port ?? config.server.port ?? NODE_PORT,
    };
  }

  /** As the kubelet does, for those who watch devices and CPUs. Pods of plain processes are given none of either. */
  async openPodResources(): Promise<void> {
    const { own, agent } = this.#options;
    const { context, config, metrics } = own;
    if (config.containerRuntimeEndpoint === EMBEDDED) return;
    const { openPodResources } = await import('./open-pod-resources.ts');
    this.#podResources = await openPodResources(context, {
      agent,
      rootDir: config.rootDir,
      metrics,
    });
  }

  async close(): Promise<void> {
    const { page } = this.#options.own;
    await Promise.all([
      this.#endpoints?.close(),
      this.#ports?.close(),
      this.#podResources?.close(),
      page.close(),
    ]);
  }

  async #routesOfOwner(): Promise<readonly Route[]> {
    const { own, agent } = this.#options;
    const { context, config, events, page, flightRecorder, localObjects: objects } = own;
    const { routesOfOwner } = await import('./serve-owner.ts');
    return [
      ...routesOfOwner(context, {
        agent,
        events,
        config,
        objects,
        flightRecorder,
        node: () => this.#node(),
      }),
      ...(await page.routes(agent, events)),
    ];
  }

  /** As the API server has it, where it does. */
  async #node(): Promise<Node> {
    const { own, agent } = this.#options;
    const known = agent.cluster?.node();
    if (known !== undefined) return { ...known, kind: 'Node', apiVersion: 'v1' };
    const { ownNode } = await import('./own-node.ts');
    return ownNode(own.context, own.config, this.agentFacts());
  }

  /** Loaded when a client first asks for a path of the node's server. */
  #routesOfNode(): Promise<readonly Route[]> {
    const { own, agent, stats, setVerbosity, logsTransitions } = this.#options;
    const { logger } = own.context;
    const { config, parts, cluster, metrics } = own;
    return (this.#nodeRoutes ??= import('./serve-node.ts').then(({ nodeApi, nodeRoutes }) =>
      nodeRoutes(
        nodeApi({
          agent,
          parts,
          config,
          logger,
          setVerbosity,
          logsTransitions,
          stats: () => stats.provider(),
          counted: metrics,
          certificateEnds: () => cluster?.certificateEnds() ?? NO_CERTIFICATES,
        }),
        config.featureGates,
      ),
    ));
  }
}
