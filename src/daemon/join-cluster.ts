/** Puts together what a node needs of its cluster. Loaded only with a kubeconfig. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Observable, type Subscription } from 'rxjs';
import { ClusterAgent } from '../actors/cluster/cluster-agent.ts';
import type { AgentCore, ClusterParts } from '../actors/cluster/cluster-parts.ts';
import { ApiConnection } from '../actors/cluster/api-connection.ts';
import type { CertificateManager } from '../actors/cluster/certificate-manager.ts';
import { EventSender } from '../actors/cluster/event-sender.ts';
import { type NodeCredentials, openNodeCredentials } from '../actors/cluster/node-credentials.ts';
import { openApiClients } from '../cluster/client/open-api-clients.ts';
import { KubeconfigCredentials } from '../cluster/credentials/kubeconfig-credentials.ts';
import type { ApiClients, ApiServer } from '../cluster/service/api-server.ts';
import { ServerObjects } from '../cluster/objects/server-objects.ts';
import { ofThisMachine, watchNode } from '../cluster/watches/watched-object.ts';
import { RuntimeClassWatch } from '../cluster/watches/runtime-class-watch.ts';
import type { StateletConfig } from '../config/config.ts';
import { runtimeClassesOf } from '../policies/cri/sandbox-config.ts';
import { objectTTLOf } from '../policies/node/initial-node.ts';
import type { NodeStatusFacts } from '../policies/node/node-status.ts';
import type { NodeHealth } from '../policies/node/ready-problems.ts';
import { StatusFacts } from '../runtime/node/status-facts.ts';
import type { RuntimeService } from '../runtime/service/runtime-service.ts';
import { apiSource } from '../sources/api-source.ts';
import type { SourceUpdate } from '../sources/source.ts';
import { systemClock } from '../system/timer.ts';
import type { Node } from '../types/kubernetes.ts';
import type { Logger } from '../types/logger.ts';
import type { Measurements } from '../types/measurements.ts';
import type { OwnNodeFacts } from '../types/node-facts.ts';

const USER_AGENT = `statelet (linux/${process.arch === 'x64' ? 'amd64' : process.arch})`;
/** Questions whose a token is, and who may what. */
const REVIEW_LIMIT = { perSecond: 50, burst: 100 };
const nothing = () => undefined;
const SILENT = { answered: nothing, unauthorized: nothing, failed: nothing };
const TIMING = { clock: systemClock, random: Math.random };

export interface ClusterDeps {
  readonly logger: Logger;
  readonly inspect?: AgentCore['inspect'];
  readonly onGiveUp: () => void;
  readonly measurements?: Measurements;
}

/** The agent that joins. It is built after this, and exists by the time it is asked. */
interface JoiningAgent {
  readonly runtime: RuntimeService;
  /** Of the machine. */
  readonly facts: OwnNodeFacts;
  /** The pressure conditions that are true now. */
  readonly conditions: () => readonly string[];
  readonly nodeHealth: () => NodeHealth;
  /** Of the node's own server, as the node object tells it. */
  readonly port: number;
}

/** What eviction by plugins needs of the cluster. */
export interface PluginCluster {
  /** With the rights of the node. */
  readonly pods: ApiServer;
  /** With the right to change taints, where such credentials are set. */
  readonly taints: ApiServer;
  /** The node's own object, as it was told last; undefined while it is not known, or is of another machine. */
  readonly node: () => Node | undefined;
  close(): void;
}

export class Cluster {
  readonly sender: EventSender;
  readonly runtimeClasses: RuntimeClassWatch;
  /** What the pods of this node refer to. */
  readonly objects: ServerObjects;
  /** The pods of this node. */
  readonly pods: Observable<SourceUpdate>;
  readonly connection: ApiConnection;
  readonly #config: StateletConfig;
  readonly #logger: Logger;
  readonly #credentials: NodeCredentials;
  readonly #addresses: Subscription;
  readonly #clients: ApiClients & { close(): void };
  readonly #node: ReturnType<typeof watchNode>;
  #statusFacts: StatusFacts | undefined;
  #agent: ClusterAgent | undefined;

  private constructor(
    config: StateletConfig,
    credentials: NodeCredentials,
    { logger, inspect, measurements }: Omit<ClusterDeps, 'onGiveUp'>,
  ) {
    this.#config = config;
    this.#logger = logger;
    this.#credentials = credentials;
    const { nodeName, cluster: settings, node } = config;
    this.connection = new ApiConnection({
      kubeconfig: settings.kubeconfig,
      clock: systemClock,
      logger,
      ...(inspect && { inspect }),
    });
    this.connection.start();
    this.connection.onChange(({ state }) => {
      if (state === 'Connected') this.#agent?.connected();
    });
    this.#clients = openApiClients(credentials.credentials, this.connection, {
      userAgent: USER_AGENT,
      ...(measurements && { measurements }),
      mainLimit: { perSecond: settings.kubeAPIQPS, burst: settings.kubeAPIBurst },
      ...(settings.eventRecordQPS > 0 && {
        eventsLimit: { perSecond: settings.eventRecordQPS, burst: settings.eventBurst },
      }),
    });
    const { main, events } = this.#clients;
    const timing = { ...TIMING, recovered: recoveriesOf(this.connection) };
    this.#node = watchNode(main, nodeName, timing);
    const own = ofThisMachine(this.#node, (object) => this.#otherMachine(object));
    let objectTTLMs: number | undefined;
    let nodeLabels: Readonly<Record<string, string>> | undefined;
    this.#addresses = this.#node.subscribe(({ object }) => {
      credentials.setAddresses(object?.status?.addresses ?? []);
      objectTTLMs = object && objectTTLOf(object);
      nodeLabels = object?.metadata.labels;
    });
    this.pods = apiSource({ api: main, nodeName, node: own, ...timing });
    this.runtimeClasses = new RuntimeClassWatch(main, runtimeClassesOf(node.runtimeClasses), timing);
    this.objects = new ServerObjects({
      api: main,
      logger,
      ...timing,
      strategy: settings.configMapAndSecretChangeDetectionStrategy,
      syncFrequencyMs: config.syncFrequencyMs,
      objectTTLMs: () => objectTTLMs,
      nodeLabels: () => nodeLabels,
    });
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

  /**
   * Rejects where the credentials are no good. The server need not answer. `onGiveUp`: the agent has no valid credentials, and gets
   * none.
   */
  static async open(
    config: StateletConfig,
    { logger, inspect, onGiveUp, measurements }: ClusterDeps,
  ): Promise<Cluster> {
    const { cluster: settings, rootDir, nodeName } = config;
    const credentials = await openNodeCredentials({
      settings,
      certDir: settings.certDir || join(rootDir, 'pki'),
      nodeName,
      connect: (others) => openApiClients(others, SILENT, { userAgent: USER_AGENT }),
      onGiveUp,
      logger,
      ...TIMING,
      ...(inspect && { inspect }),
      ...(measurements && { measurements }),
    });
    await credentials.start();
    return new Cluster(config, credentials, {
      logger,
      ...(inspect && { inspect }),
      ...(measurements && { measurements }),
    });
  }

  /** Reads the machine. To be called before the agent is started. */
  async prepare({ runtime, facts, conditions, nodeHealth, port }: JoiningAgent): Promise<void> {
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
      port,
      maxImages: cluster.nodeStatusMaxImages,
      facts,
      conditions,
      health: nodeHealth,
    });
  }

  /** The serving certificate that the API server gives; undefined unless `serverTLSBootstrap` is set. */
  get serving(): CertificateManager | undefined {
    return this.#credentials.serving;
  }

  /** Clients of their own: whoever sends requests to the node cannot hold up what the agent itself asks. */
  openReviews(): ApiClients & { close(): void } {
    return openApiClients(this.#credentials.credentials, this.connection, {
      userAgent: USER_AGENT,
      mainLimit: REVIEW_LIMIT,
    });
  }

  /**
   * What eviction by plugins asks of the server. `taintsKubeconfig`: with whose rights taints of the node are written; empty: with the
   * node's own.
   */
  openEvictions(taintsKubeconfig: string): PluginCluster {
    const { main } = this.#clients;
    const others = taintsKubeconfig === '' ? undefined : this.#openWith(taintsKubeconfig);
    return {
      pods: main,
      taints: others?.main ?? main,
      node: () => this.#agent?.ownNode(),
      close: () => others?.close(),
    };
  }

  /** The part of the agent in the cluster. */
  join(core: AgentCore, { os, arch }: OwnNodeFacts): ClusterParts {
    const { cluster: settings, nodeName, nodeLabels, registerWithTaints } = this.#config;
    const { client, serving } = this.#credentials;
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
      statusFactsKnown: async () => this.#statusFacts?.known,
      node: this.#node,
      earlierActors: [this.connection, client, serving].flatMap((part) => part?.actor ?? []),
      core,
    });
    this.#agent = agent;
    return agent;
  }

  /** When the certificates of the node expire, in Unix milliseconds. Undefined: there is no such certificate, or it is not the agent's. */
  certificateEnds(): { readonly client: number | undefined; readonly serving: number | undefined } {
    const { client, serving } = this.#credentials;
    return { client: client?.current()?.facts.notAfter, serving: serving?.current()?.facts.notAfter };
  }

  /** Whether this server answers says nothing about the credentials of the node. */
  #openWith(kubeconfig: string): ApiClients & { close(): void } {
    const credentials = new KubeconfigCredentials(kubeconfig, { clock: systemClock, logger: this.#logger });
    return openApiClients(credentials, SILENT, { userAgent: USER_AGENT });
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
    this.#addresses.unsubscribe();
    this.#credentials.stop();
    this.runtimeClasses.close();
    this.objects.close();
    this.#statusFacts?.stop();
    await this.sender.stop();
    this.#clients.close();
    this.connection.stop();
  }
}

/** Emits each time when the server answers again after it did not. */
function recoveriesOf(connection: ApiConnection): Observable<unknown> {
  return new Observable((subscriber) =>
    connection.onChange(({ state }) => {
      if (state === 'Connected') subscriber.next(undefined);
    }),
  );
}
