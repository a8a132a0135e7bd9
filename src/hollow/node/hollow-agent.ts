/** One agent on a hollow node, from its start until it is stopped or dies: the production agent on the parts of the simulation. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { map } from 'rxjs';
import type { ActorContext } from '../../agent/actors/actor-context.ts';
import { heldResources } from '../../agent/actors/held-resources.ts';
import { NodeAgent } from '../../agent/actors/node-agent.ts';
import { CRASH_LOOP_BACK_OFF } from '../../agent/policies/pod-actions/back-off.ts';
import { ImageManager } from '../../agent/runtime/images/image-manager.ts';
import { PullSecretReader } from '../../agent/runtime/images/keyring.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import type { ClaimFigures } from '../../agent/runtime/stats/disks/claim-figures.ts';
import { AgentMetrics } from '../../agent/server/metrics/agent-metrics.ts';
import { PodResourcesSocket } from '../../agent/server/pod-resources/pod-resources-socket.ts';
import { channelEvent, podConfig, type PodSources } from '../../agent/sources/pod-config.ts';
import { problemText } from '../../agent/sources/source.ts';
import { AgentClock } from '../../simulation/node/agent-clock.ts';
import { AgentCluster } from '../../simulation/node/agent-cluster.ts';
import type { AgentDrivers } from '../../simulation/node/agent-drivers.ts';
import { NO_NODE_FAULTS } from '../../simulation/node/node-fault-draws.ts';
import type { NodeManagers } from '../../simulation/node/node-managers.ts';
import { simulatedNode } from '../../simulation/node/simulated-node.ts';
import { SimulatedReclaimer } from '../../simulation/node/simulated-reclaimer.ts';
import type { SimulatedConnection } from '../../simulation/runtime/simulated-connection.ts';
import { SimulatedStats } from '../../simulation/resources/simulated-stats.ts';
import { systemClock } from '../../system/timer.ts';
import type { Logger } from '../../types/logger.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { ClaimStats } from '../../types/stats.ts';
import { NodeClients } from '../cluster/node-client.ts';
import { DevicePublisher } from '../cluster/device-publisher.ts';
import type { Fleet } from './fleet.ts';
import type { HollowMachine } from './hollow-machine.ts';
import { withoutNetwork } from './hollow-pods.ts';
import { evictionOf } from './hollow-resources.ts';
import { staticPods } from './hollow-static-pods.ts';

/** The defaults of the kubelet. */
const SYNC_FREQUENCY_MS = 60_000;
const MAX_CONTAINER_RESTART_PERIOD_MS = 300_000;
/** As long as the daemon waits. */
const STOP_LIMIT_MS = 2_000;
const PULLS = { serializeImagePulls: true, registryPullQPS: 5, registryBurst: 10 };
/** Its registries ask for none. */
const NO_CREDENTIALS = { lookup: () => Promise.resolve([]) };
const NO_STATS_FAULTS = { fail: 0, slow: 0 };

export class HollowAgent {
  readonly agent: NodeAgent;
  readonly stats: SimulatedStats;
  readonly metrics = new AgentMetrics();
  readonly #fleet: Fleet;
  readonly #machine: HollowMachine;
  readonly #clock = new AgentClock(systemClock);
  readonly #clients: NodeClients;
  readonly #cluster: AgentCluster;
  readonly #connection: SimulatedConnection;
  readonly #context: ActorContext;
  readonly #managers: NodeManagers | undefined;
  readonly #drivers: AgentDrivers | undefined;
  /** It has a connection of its own. */
  #reclaimer: SimulatedReclaimer | undefined;
  #publisher: DevicePublisher | undefined;
  #claimFigures: ClaimFigures | undefined;
  #podResources: PodResourcesSocket | undefined;
  #isAlive = true;

  constructor(fleet: Fleet, machine: HollowMachine) {
    this.#fleet = fleet;
    this.#machine = machine;
    this.#clients = new NodeClients(fleet.clients, fleet);
    this.#cluster = this.#buildCluster();
    this.#connection = machine.runtime.connect();
    this.#context = {
      clock: this.#clock,
      random: Math.random,
      logger: this.#logger(),
      recorder: this.#cluster.sender,
      measurements: this.metrics,
    };
    this.stats = this.#buildStats();
    this.#managers = machine.managers?.forAgent(this.#context, this.#connection);
    this.#drivers = this.#buildDrivers();
    this.agent = this.#buildAgent();
    this.#drivers?.find();
    this.agent.start();
    this.#publish();
    this.#servePodResources();
  }

  /** A pod that the node runs, or should run. */
  podOf(uid: string): Pod | undefined {
    const { desired, registry } = this.agent.supervisor;
    return desired.get(uid) ?? registry.podOf(uid);
  }

  /** What the CSI drivers say of volumes with claims, by the UIDs of their pods. */
  async claimFigures(): Promise<ReadonlyMap<string, readonly ClaimStats[]>> {
    this.#claimFigures ??= this.#drivers?.claimFigures?.((uid) => this.podOf(uid));
    return (await this.#claimFigures?.of(this.#machine.runtime.uids())) ?? new Map();
  }

  podName(uid: string): string | undefined {
    return this.agent.supervisor.desired.get(uid)?.metadata.name;
  }

  /** The API server answers again. */
  connected(): void {
    this.#cluster.connected();
  }

  /** SIGKILL: from now on the agent does nothing. */
  crash(): void {
    this.#isAlive = false;
    this.#publisher?.stop();
    void this.#podResources?.close();
    this.#clock.stop();
    this.stats.close();
    this.#connection.cut();
    this.#reclaimer?.connection.cut();
    this.#clients.cut();
  }

  /** SIGTERM: the pods keep running. Effects that take long, such as pulls, are not waited for. */
  async stop(): Promise<void> {
    await this.agent.shutDown(false);
    const { promise: timeUp, resolve } = Promise.withResolvers<undefined>();
    this.#clock.setTimeout(() => resolve(undefined), STOP_LIMIT_MS);
    await Promise.race([Promise.all([this.agent.stop(), this.#cluster.stop()]), timeUp]);
    this.crash();
  }

  #buildCluster(): AgentCluster {
    const { plan, address, ports } = this.#fleet;
    const { facts, runtime, bootID } = this.#machine;
    return new AgentCluster({
      client: this.#clients,
      clock: this.#clock,
      random: Math.random,
      logger: this.#logger(),
      strategy: 'Watch',
      syncFrequencyMs: SYNC_FREQUENCY_MS,
      nodeFacts: () => facts,
      conditions: () => this.agent.nodeFacts().conditions,
      uuid: randomUUID,
      devices: () => this.#managers?.devices,
      volumesInUse: () => this.agent.csi?.volumesInUse(),
      registration: { nodeLabels: facts.labels, registerWithTaints: plan.taints },
      reported: (simulated) => ({
        ...simulated,
        // The API server must be able to call the node by each of its addresses.
        addresses: { ...simulated.addresses, nodeIPs: [address], hostname: address },
        resources: {
          ...simulated.resources,
          machine: simulated.resources.machine && { ...simulated.resources.machine, bootID },
        },
        port: ports.get(facts.name) ?? 0,
        images: runtime.images(),
      }),
    });
  }

  #buildStats(): SimulatedStats {
    const { resources, random } = this.#machine;
    return new SimulatedStats({
      resources,
      random,
      clock: this.#clock,
      faults: () => NO_STATS_FAULTS,
      nameOf: (uid) => this.podName(uid),
      onMeasure: () => () => undefined,
    });
  }

  #buildDrivers(): AgentDrivers | undefined {
    const { facts, drivers } = this.#machine;
    return drivers?.forAgent(this.#context, {
      cluster: this.#cluster,
      nodeName: facts.name,
      objects: this.#cluster.objects,
      isAlive: () => this.#isAlive,
    });
  }

  /** The drivers publish what the node has. */
  #publish(): void {
    const { draDrivers: drivers } = this.#fleet.plan;
    if (drivers.length === 0) return;
    this.#publisher = new DevicePublisher(this.#context, {
      api: this.#clients,
      nodeName: this.#machine.facts.name,
      node: this.#cluster.watchedNode,
      drivers,
    });
  }

  /** On a node that gives devices or CPUs of its own to containers. */
  #servePodResources(): void {
    if (this.#managers === undefined && this.#fleet.plan.draDrivers.length === 0) return;
    this.#podResources = new PodResourcesSocket(this.#context.logger, () => ({
      ...heldResources(this.agent),
      measurements: this.metrics.podResources,
      now: () => this.#clock.now(),
    }));
    void this.#podResources.listen(join(this.#fleet.rootDir, 'nodes', this.#machine.facts.name));
  }

  #buildAgent(): NodeAgent {
    const { address, plan } = this.#fleet;
    const { facts, endedPods } = this.#machine;
    const { logger } = this.#context;
    const sources = this.#sources();
    return new NodeAgent(this.#context, {
      parts: this.#parts(),
      sources: Object.keys(sources),
      configuration: podConfig(sources, {
        now: () => this.#clock.now(),
        onProblem: (problem) => logger.warn({ source: problem.source }, problemText(problem)),
      }).pipe(map(channelEvent)),
      hostIPs: [address],
      syncFrequencyMs: SYNC_FREQUENCY_MS,
      nodeFacts: () => facts,
      preemptionLowerPriorityFirst: true,
      eviction: {
        configuration: evictionOf(plan),
        stats: () => Promise.resolve(this.stats),
      },
      maxContainerRestartPeriodMs: MAX_CONTAINER_RESTART_PERIOD_MS,
      maximumDeadContainersPerContainer: 1,
      startsAtOnce: 16,
      endedPods: {
        stored: endedPods.stored,
        write: (pods) => {
          if (this.#isAlive) endedPods.stored = pods;
          return Promise.resolve();
        },
      },
      objectChanges: this.#cluster.objects.changes,
      cluster: (core) => this.#cluster.join(core),
      ...(this.#managers?.devicePlugins && { devicePlugins: this.#managers.devicePlugins }),
      ...this.#drivers?.options,
    });
  }

  #sources(): PodSources {
    const { staticPodPath } = this.#fleet.plan;
    const api = withoutNetwork(this.#cluster.pods);
    return staticPodPath === undefined
      ? { api }
      : { api, file: withoutNetwork(staticPods(staticPodPath, this.#machine.facts.name)) };
  }

  #parts(): NodeParts {
    const { disk, random } = this.#machine;
    const runtime = this.#connection;
    const { objects } = this.#cluster;
    const images = new ImageManager(this.#context, {
      ...PULLS,
      runtime,
      keyring: NO_CREDENTIALS,
      pullSecrets: new PullSecretReader(this.#context, objects),
      backOff: CRASH_LOOP_BACK_OFF,
    });
    this.#reclaimer = this.#buildReclaimer(images);
    const reclaimer = this.#reclaimer;
    return {
      runtime,
      reclaimer,
      node: simulatedNode({
        runtime,
        images,
        disk,
        random,
        faults: () => NO_NODE_FAULTS,
        clock: this.#clock,
        objects,
        isAlive: () => this.#isAlive,
        managers: this.#managers?.subsystems ?? [],
        cpus: this.#managers?.cpus,
        hasOwnMemory: this.#fleet.plan.managers.memoryManagerPolicy === 'Static',
        drivers: this.#drivers?.subsystems ?? [],
      }),
      ...(this.#managers && {
        devices: this.#managers.devices,
        cpus: this.#managers.cpus,
        memory: this.#managers.memory,
      }),
      ...this.#drivers?.parts,
      start: (view) => {
        reclaimer?.start(view);
        this.#managers?.start(view);
        this.#drivers?.start(view);
      },
      stop: async () => {
        await Promise.all([reclaimer?.stop(), this.#managers?.stop()]);
      },
    };
  }

  /** Undefined for a node whose disk cannot become full. */
  #buildReclaimer(images: ImageManager): SimulatedReclaimer | undefined {
    const { resources, runtime } = this.#machine;
    const { storage } = resources;
    if (!storage) return undefined;
    return new SimulatedReclaimer(this.#context, runtime.connect(), {
      images: {
        onRemoved: (image) => images.forget(image),
        statfs: () =>
          Promise.resolve({
            capacityBytes: storage.sizes.imageFs.bytes,
            availableBytes: storage.free().imageFs.bytes,
          }),
      },
    });
  }

  /** What the agent of a daemon logs as information would be thousands of lines a minute. */
  #logger(): Logger {
    const { logger } = this.#fleet;
    const { name: node } = this.#machine.facts;
    const tell =
      (level: 'debug' | 'warn' | 'error') =>
      (fields: object, message: string): void => {
        if (this.#isAlive) logger[level]({ node, ...fields }, message);
      };
    return {
      trace: (fields, message) => logger.trace({ node, ...fields }, message),
      debug: tell('debug'),
      info: tell('debug'),
      warn: tell('warn'),
      error: tell('error'),
    };
  }
}
