/** Puts together what a node needs of its cluster. Loaded only with a kubeconfig. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Observable, Subscription } from 'rxjs';
import type { ActorContext } from '../../agent/actors/actor-context.ts';
import { ClusterAgent } from '../../agent/actors/cluster/cluster-agent.ts';
import type { AgentCore, ClusterParts } from '../../agent/actors/cluster/cluster-parts.ts';
import { ApiConnection } from '../../agent/actors/cluster/api-connection.ts';
import type { CertificateManager } from '../../agent/actors/cluster/certificate-manager.ts';
import { EventSender } from '../../agent/actors/cluster/event-sender.ts';
import { type NodeCredentials, openNodeCredentials } from '../../agent/actors/cluster/node-credentials.ts';
import { openApiClients } from '../../agent/cluster/client/open-api-clients.ts';
import { KubeconfigCredentials } from '../../agent/cluster/credentials/kubeconfig-credentials.ts';
import type { ApiClients, ApiDiscovery, ApiServer } from '../../agent/cluster/service/api-server.ts';
import { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import { ofThisMachine, watchNode } from '../../agent/cluster/watches/watched-object.ts';
import { RuntimeClassWatch } from '../../agent/cluster/watches/runtime-class-watch.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import { runtimeClassesOf } from '../../agent/policies/cri/sandbox-config.ts';
import { objectTTLOf } from '../../agent/policies/node/initial-node.ts';
import type { NodeStatusFacts } from '../../agent/policies/node/node-status.ts';
import type { DeviceManager } from '../../agent/runtime/devices/device-manager.ts';
import { StatusFacts } from '../../agent/runtime/node/status-facts.ts';
import { apiSource } from '../../agent/sources/api-source.ts';
import type { SourceUpdate } from '../../agent/sources/source.ts';
import type { Node } from '../../types/kubernetes.ts';
import type { OwnNodeFacts } from '../../types/node-facts.ts';
import { type AgentFacts, registrationOf, statusFactsParts } from './own-node.ts';

const USER_AGENT = `statelet (linux/${process.arch === 'x64' ? 'amd64' : process.arch})`;
/** For requests that ask to whom a token belongs, and what a user may do. */
const REVIEW_LIMIT = { perSecond: 50, burst: 100 };
const nothing = () => undefined;
const SILENT = { answered: nothing, unauthorized: nothing, failed: nothing };

/** What eviction by plugins needs of the cluster. */
export interface PluginCluster {
  /** With the rights of the node. */
  readonly pods: ApiServer;
  /** With the right to change taints, and to what Katalyst has for nodes, where such credentials are set. */
  readonly taints: ApiServer & ApiDiscovery;
  /** The node's own object, as the server sent it last; undefined while it is not known, or is of another machine. */
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
  readonly #context: ActorContext;
  readonly #config: StateletConfig;
  readonly #credentials: NodeCredentials;
  readonly #addresses: Subscription;
  readonly #clients: ReturnType<typeof openApiClients>;
  readonly #node: ReturnType<typeof watchNode>;
  #statusFacts: StatusFacts | undefined;
  #agent: ClusterAgent | undefined;

  private constructor(context: ActorContext, config: StateletConfig, credentials: NodeCredentials) {
    this.#context = context;
    this.#config = config;
    this.#credentials = credentials;
    const { nodeName, cluster: settings, node } = config;
    this.connection = new ApiConnection(context, settings.kubeconfig);
    this.connection.start();
    this.connection.onChange(({ state }) => {
      if (state === 'Connected') this.#agent?.connected();
    });
    this.#clients = openApiClients(credentials.credentials, this.connection, {
      userAgent: USER_AGENT,
      measurements: context.measurements,
      mainLimit: { perSecond: settings.kubeAPIQPS, burst: settings.kubeAPIBurst },
      ...(settings.eventRecordQPS > 0 && {
        eventsLimit: { perSecond: settings.eventRecordQPS, burst: settings.eventBurst },
      }),
    });
    const { main, events } = this.#clients;
    const { clock, random, logger } = context;
    const timing = { clock, random, recovered: this.connection.recoveries };
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
    const watching = { ...timing, logger };
    this.objects = new ServerObjects(watching, {
      api: main,
      strategy: settings.configMapAndSecretChangeDetectionStrategy,
      syncFrequencyMs: config.syncFrequencyMs,
      objectTTLMs: () => objectTTLMs,
      nodeLabels: () => nodeLabels,
    });
    this.sender = new EventSender(context, {
      api: events,
      nodeName,
      nodeUID: () => this.#agent?.nodeUID,
      podOf: (uid) => this.#agent?.pod(uid),
      uuid: randomUUID,
    });
  }

  /**
   * Rejects if the credentials are not valid. The server need not answer. `onGiveUp`: the agent has no valid credentials, and gets
   * none.
   */
  static async open(context: ActorContext, config: StateletConfig, onGiveUp: () => void): Promise<Cluster> {
    const { cluster: settings, rootDir, nodeName } = config;
    const credentials = await openNodeCredentials(context, {
      settings,
      certDir: settings.certDir || join(rootDir, 'pki'),
      nodeName,
      connect: (others) => openApiClients(others, SILENT, { userAgent: USER_AGENT }),
      onGiveUp,
    });
    await credentials.start();
    return new Cluster(context, config, credentials);
  }

  /** Reads the machine. To be called before the agent is started. */
  async prepare(agent: AgentFacts): Promise<void> {
    this.#statusFacts = await StatusFacts.open(this.#context, statusFactsParts(this.#config, agent));
  }

  /** The serving certificate that the API server gives; undefined unless `serverTLSBootstrap` is set. */
  get serving(): CertificateManager | undefined {
    return this.#credentials.serving;
  }

  /** Clients of their own: requests to the node cannot delay the agent's own requests. */
  openReviews(): ApiClients & { close(): void } {
    return openApiClients(this.#credentials.credentials, this.connection, {
      userAgent: USER_AGENT,
      mainLimit: REVIEW_LIMIT,
    });
  }

  /**
   * What eviction by plugins asks of the server. `taintsKubeconfig`: the kubeconfig of the user that writes the node's taints; empty: the
   * node itself.
   */
  openEvictions(taintsKubeconfig: string): PluginCluster {
    const { main } = this.#clients;
    const others = taintsKubeconfig === '' ? undefined : this.#openWith(taintsKubeconfig);
    return {
      pods: main,
      taints: others?.main ?? main,
      node: () => this.ownNode(),
      close: () => others?.close(),
    };
  }

  /** With the rights of the node. */
  get api(): ApiServer {
    return this.#clients.main;
  }

  /** As the server sent it last; undefined while it is not known, or is of another machine. */
  ownNode(): Node | undefined {
    return this.#agent?.ownNode();
  }

  /** As the API server has it, with all writes of this agent. Rejects where it does not answer. */
  async writtenNode(): Promise<Node | undefined> {
    return this.#agent?.writtenNode();
  }

  /** The part of the agent in the cluster. */
  join(core: AgentCore, facts: OwnNodeFacts, devices: DeviceManager | undefined): ClusterParts {
    const { client, serving } = this.#credentials;
    const agent = new ClusterAgent(core, {
      clients: this.#clients,
      settings: this.#config.cluster,
      registration: {
        ...registrationOf(this.#config, facts),
        resetsExtendedResources: devices?.hadCheckpoint === false,
      },
      statusFacts: () => this.#readStatusFacts(),
      statusFactsKnown: async () => this.#statusFacts?.known,
      node: this.#node,
      earlierActors: [this.connection, client, serving].flatMap((part) => part?.actor ?? []),
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
  #openWith(kubeconfig: string): ReturnType<typeof openApiClients> {
    const credentials = new KubeconfigCredentials(this.#context, kubeconfig);
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
