/** Puts together what a node needs of its cluster. Loaded only with a kubeconfig. */
import { randomUUID } from 'node:crypto';
import type { Observable } from 'rxjs';
import { ClusterAgent } from './actors/cluster/cluster-agent.ts';
import type { AgentCore, ClusterParts } from './actors/cluster/cluster-parts.ts';
import { Connection } from './actors/cluster/connection.ts';
import { EventSender } from './actors/cluster/event-sender.ts';
import { openApiClients } from './cluster/client/open-api-clients.ts';
import { KubeconfigCredentials } from './cluster/credentials/kubeconfig-credentials.ts';
import type { ApiClients } from './cluster/service/api-server.ts';
import { ofThisMachine } from './cluster/watches/own-node.ts';
import { RuntimeClassWatch } from './cluster/watches/runtime-class-watch.ts';
import { watchNode } from './cluster/watches/watched-object.ts';
import type { StateletConfig } from './config/config.ts';
import { runtimeClassesOf } from './policies/admission/runtime-class.ts';
import type { NodeStatusFacts } from './policies/node-status/node-status.ts';
import type { NodeHealth } from './policies/node-status/ready-problems.ts';
import { StatusFacts } from './runtime/node/status-facts.ts';
import type { RuntimeService } from './runtime/service/runtime-service.ts';
import { apiSource } from './sources/api-source.ts';
import type { SourceUpdate } from './sources/source.ts';
import { systemClock } from './system/system-clock.ts';
import type { Node } from './types/kubernetes.ts';
import type { Logger } from './types/logger.ts';
import type { OwnNodeFacts } from './types/node-facts.ts';

const TIMING = { clock: systemClock, random: Math.random };

/** The agent that joins. It is built after this, and exists by the time it is asked. */
interface JoiningAgent {
  readonly runtime: RuntimeService;
  /** Of the machine. */
  readonly facts: OwnNodeFacts;
  /** The pressure conditions that are true now. */
  readonly conditions: () => readonly string[];
  readonly nodeHealth: () => NodeHealth;
}

export class Cluster {
  readonly sender: EventSender;
  readonly runtimeClasses: RuntimeClassWatch;
  /** The pods of this node. */
  readonly pods: Observable<SourceUpdate>;
  readonly connection: Connection;
  readonly #config: StateletConfig;
  readonly #logger: Logger;
  readonly #clients: ApiClients & { close(): void };
  readonly #node: ReturnType<typeof watchNode>;
  #statusFacts: StatusFacts | undefined;
  #agent: ClusterAgent | undefined;

  private constructor(config: StateletConfig, credentials: KubeconfigCredentials, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    const { nodeName, cluster: settings, node } = config;
    this.connection = new Connection({ clock: systemClock, logger });
    this.connection.start();
    this.#clients = openApiClients(credentials, this.connection, {
      userAgent: `statelet (linux/${process.arch === 'x64' ? 'amd64' : process.arch})`,
      mainLimit: { perSecond: settings.kubeAPIQPS, burst: settings.kubeAPIBurst },
      ...(settings.eventRecordQPS > 0 && {
        eventsLimit: { perSecond: settings.eventRecordQPS, burst: settings.eventBurst },
      }),
    });
    const { main, events } = this.#clients;
    this.#node = watchNode(main, nodeName, TIMING);
    const own = ofThisMachine(this.#node, (object) => this.#otherMachine(object));
    this.pods = apiSource({ api: main, nodeName, node: own, ...TIMING });
    this.runtimeClasses = new RuntimeClassWatch(main, runtimeClassesOf(node.runtimeClasses), TIMING);
    this.sender = new EventSender({
      api: events,
      nodeName,
      nodeUID: () => this.#agent?.nodeUID,
      podOf: (uid) => this.#agent?.pod(uid),
      uuid: randomUUID,
      logger,
      ...TIMING,
    });
  }

  /** Rejects where the credentials are no good. The server need not answer. */
  static async open(config: StateletConfig, logger: Logger): Promise<Cluster> {
    const credentials = new KubeconfigCredentials(config.cluster.kubeconfig, { clock: systemClock, logger });
    await credentials.current();
    return new Cluster(config, credentials, logger);
  }

  /** Reads the machine. To be called before the agent is started. */
  async prepare({ runtime, facts, conditions, nodeHealth }: JoiningAgent): Promise<void> {
    const { node, cluster, maxPods, podsPerCore, extendedResources } = this.#config;
    this.#statusFacts = await StatusFacts.open({
      clock: systemClock,
      logger: this.#logger,
      runtime,
      nodeIPs: node.nodeIP,
      externalCloudProvider: cluster.cloudProvider === 'external',
      maxPods,
      podsPerCore,
      extendedResources,
      reservations: this.#config,
      port: cluster.port,
      maxImages: cluster.nodeStatusMaxImages,
      facts,
      conditions,
      health: nodeHealth,
    });
  }

  /** The part of the agent in the cluster. */
  join(core: AgentCore, { os, arch }: OwnNodeFacts): ClusterParts {
    const { cluster: settings, nodeName, nodeLabels, registerWithTaints } = this.#config;
    const agent = new ClusterAgent({
      clients: this.#clients,
      settings,
      registration: {
        nodeName,
        hostname: nodeName,
        os,
        arch,
        nodeLabels,
        registerWithTaints,
        registerSchedulable: settings.registerSchedulable,
        externalCloudProvider: settings.cloudProvider === 'external',
        providerID: settings.providerID,
        controllerManagedAttach: true,
      },
      statusFacts: () => this.#readStatusFacts(),
      node: this.#node,
      core,
    });
    this.#agent = agent;
    return agent;
  }

  /** Not known before the machine has been read. */
  #otherMachine(object: Node): string | undefined {
    return this.#statusFacts && this.#agent?.otherMachine(object);
  }

  #readStatusFacts(): NodeStatusFacts {
    if (this.#statusFacts === undefined) throw new Error('the machine has not been read');
    return this.#statusFacts.now();
  }

  async close(): Promise<void> {
    this.runtimeClasses.close();
    this.#statusFacts?.stop();
    await this.sender.stop();
    this.#clients.close();
    this.connection.stop();
  }
}
