/** The part of a simulated agent in its cluster: the production actors, with a client of the simulated API server. */
import type { Observable } from 'rxjs';
import { ClusterAgent } from '../../agent/actors/cluster/cluster-agent.ts';
import type { AgentCore, ClusterParts } from '../../agent/actors/cluster/cluster-parts.ts';
import { EventSender } from '../../agent/actors/cluster/event-sender.ts';
import type { ApiClients, ApiServer } from '../../agent/cluster/service/api-server.ts';
import { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import { watchNode } from '../../agent/cluster/watches/watched-object.ts';
import type { RegistrationSettings } from '../../agent/policies/node/initial-node.ts';
import type { DeviceManager } from '../../agent/runtime/devices/device-manager.ts';
import type { NodeStatusFacts } from '../../agent/policies/node/node-status.ts';
import { apiSource } from '../../agent/sources/api-source.ts';
import type { SourceUpdate } from '../../agent/sources/source.ts';
import type { ChangeDetectionStrategy, ClusterSettings } from '../../types/node-settings.ts';
import type { Node } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { simulatedStatusFacts } from './simulated-status-facts.ts';
import type { AgentContext } from '../../types/agent-context.ts';

/** The defaults. */
const SETTINGS: ClusterSettings = {
  kubeconfig: 'simulated',
  bootstrapKubeconfig: '',
  certDir: '',
  rotateCertificates: false,
  serverTLSBootstrap: false,
  registerNode: true,
  registerSchedulable: true,
  providerID: '',
  cloudProvider: '',
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  nodeStatusMaxImages: 50,
  kubeAPIQPS: 50,
  kubeAPIBurst: 100,
  eventRecordQPS: 50,
  eventBurst: 100,
  configMapAndSecretChangeDetectionStrategy: 'Watch',
};

export interface AgentClusterOptions extends Pick<AgentContext, 'clock' | 'random' | 'logger'> {
  readonly client: ApiServer & { readonly clients: ApiClients };
  /** How ConfigMaps and Secrets are followed. */
  readonly strategy: ChangeDetectionStrategy;
  readonly syncFrequencyMs: number;
  /** The facts in the settings of the agent. */
  readonly nodeFacts: () => NodeFacts;
  /** The pressure conditions that hold. */
  readonly conditions: () => readonly string[];
  /** Undefined, or returns undefined: the node has no devices. */
  readonly devices?: () => DeviceManager | undefined;
  /** Of CSI drivers. Undefined: they are not known. */
  readonly volumesInUse?: () => readonly string[] | undefined;
  /** The names of events. Default: numbers. */
  readonly uuid?: () => string;
  /** Beside the name of the node. */
  readonly registration?: Pick<RegistrationSettings, 'nodeLabels' | 'registerWithTaints'>;
  /** Changes the facts that the node reports. */
  readonly reported?: (facts: NodeStatusFacts) => NodeStatusFacts;
}

export class AgentCluster {
  readonly api: ApiServer;
  readonly pods: Observable<SourceUpdate>;
  readonly sender: EventSender;
  /** The objects to which its pods refer. */
  readonly objects: ServerObjects;
  /** Its own Node object. */
  readonly watchedNode: ReturnType<typeof watchNode>;
  readonly #options: AgentClusterOptions;
  #agent: ClusterAgent | undefined;
  #events = 0;

  constructor(options: AgentClusterOptions) {
    this.#options = options;
    const { client, clock, random, nodeFacts, strategy, syncFrequencyMs } = options;
    this.api = client;
    const nodeName = nodeFacts().name;
    const timing = { clock, random };
    this.watchedNode = watchNode(client, nodeName, timing);
    this.pods = apiSource({ api: client, nodeName, node: this.watchedNode, ...timing });
    this.objects = new ServerObjects(options, { api: client, strategy, syncFrequencyMs });
    this.sender = new EventSender(options, {
      api: client,
      nodeName,
      nodeUID: () => this.#agent?.nodeUID,
      podOf: (uid) => this.#agent?.pod(uid),
      uuid: options.uuid ?? (() => `event-${String(++this.#events)}`),
    });
  }

  /** The server answers again. */
  connected(): void {
    this.#agent?.connected();
  }

  /** As the API server sent it last. */
  ownNode(): Node | undefined {
    return this.#agent?.ownNode();
  }

  /** The present object, read once the node's status is written. */
  async writtenNode(): Promise<Node | undefined> {
    return this.#agent?.writtenNode();
  }

  /** Resolves when no event is being sent any more. */
  async stop(): Promise<void> {
    this.objects.close();
    await this.sender.stop();
  }

  join(core: AgentCore): ClusterParts {
    const {
      client,
      clock,
      nodeFacts,
      conditions,
      devices,
      volumesInUse,
      reported = asSimulated,
    } = this.#options;
    const facts = () => ({ ...nodeFacts(), conditions: conditions() });
    this.#agent = new ClusterAgent(core, {
      clients: client.clients,
      settings: SETTINGS,
      registration: {
        ...registration(nodeFacts()),
        ...this.#options.registration,
        resetsExtendedResources: devices?.()?.hadCheckpoint === false,
      },
      statusFacts: () =>
        reported({
          ...simulatedStatusFacts(facts(), core.health(), clock.now(), devices?.()?.resources()),
          volumesInUse: volumesInUse?.(),
        }),
      node: this.watchedNode,
    });
    return this.#agent;
  }
}

const asSimulated = (facts: NodeStatusFacts): NodeStatusFacts => facts;

/** Most nodes watch. `value`: in [0, 1). */
export function drawnStrategy(value: number): ChangeDetectionStrategy {
  if (value < 0.7) return 'Watch';
  return value < 0.85 ? 'Get' : 'Cache';
}

function registration({ name, os, arch }: NodeFacts): RegistrationSettings {
  return {
    nodeName: name,
    hostname: name,
    os,
    arch,
    nodeLabels: {},
    registerWithTaints: [],
    registerSchedulable: true,
    externalCloudProvider: false,
    providerID: '',
    controllerManagedAttach: true,
  };
}
