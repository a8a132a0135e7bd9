/** The agent of one node: its actors, and what they work with. */
import type { AnyActorRef } from 'xstate';
import type { EvictionExplanation } from '../policies/eviction/explanation.ts';
import type { NodeHealth } from '../policies/node/ready-problems.ts';
import { OWN_GRACE_PERIODS } from '../policies/termination/shutdown-periods.ts';
import { resourceHolders } from '../runtime/node/resource-holders.ts';
import type { Pleg } from '../runtime/pleg/pleg.ts';
import { sleep } from '../../system/timer.ts';
import type { PodPhase } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { ResourceHolders } from '../../types/pod-resources.ts';
import type { ActorContext } from './actor-context.ts';
import type { AgentCore, ClusterParts } from './cluster/cluster-parts.ts';
import { EvictionManager } from './eviction/eviction-manager.ts';
import { LoopStreams } from './loop/loop-streams.ts';
import type { NodeAgentOptions } from './node/node-agent-options.ts';
import { NodePods } from './node/node-pods.ts';
import { NodeShutdown } from './node/node-shutdown.ts';
import { NodeState } from './node/node-state.ts';
import { RuntimeWatch } from './node/runtime-watch.ts';
import type { NodeDra } from './dra/node-dra.ts';
import type { NodeCsi } from './volumes/node-csi.ts';
import type { NodeDevicePlugins } from './devices/node-device-plugins.ts';
import type { NodePlugins } from './plugins/plugin-parts.ts';
import type { StatusManager } from './pods/status-manager.ts';
import type { ProbeManager } from './probes/probe-manager.ts';
import type { Supervisor } from './supervisor.ts';
import { nodeTransitions, type NodeTransitions } from './transitions.ts';

/** How long an agent that ends with its pods waits for an API server that does not answer. */
const FLUSH_LIMIT_MS = 5_000;

export class NodeAgent {
  readonly statusManager: StatusManager;
  readonly pleg: Pleg;
  readonly probes: ProbeManager;
  readonly supervisor: Supervisor;
  readonly transitions: NodeTransitions;
  /** The first actors of their systems: a few run before the supervisor does. */
  readonly roots: readonly AnyActorRef[];
  /** Undefined where a shutdown of the node does not wait for pods, outside a cluster. */
  readonly shutdown: NodeShutdown | undefined;
  readonly cluster: ClusterParts | undefined;
  readonly plugins: NodePlugins | undefined;
  readonly devicePlugins: NodeDevicePlugins | undefined;
  readonly csi: NodeCsi | undefined;
  /** Of devices, CPUs and memory that containers have for themselves. */
  readonly holders: ResourceHolders;
  readonly #dra: NodeDra | undefined;
  readonly #context: ActorContext;
  readonly #options: NodeAgentOptions;
  readonly #runtime: RuntimeWatch;
  readonly #node: NodeState;
  readonly #eviction: EvictionManager | undefined;
  readonly #streams: LoopStreams;
  readonly #stopped = Promise.withResolvers<undefined>();
  #looping = false;

  constructor(context: ActorContext, options: NodeAgentOptions) {
    this.#context = context;
    this.#options = options;
    const { parts, configuration, objectChanges } = options;
    this.holders = resourceHolders(parts);
    this.#runtime = new RuntimeWatch(context, parts.runtime);
    this.pleg = this.#runtime.pleg;
    this.#node = this.#buildNodeState();
    const pods = new NodePods(context, {
      agent: options,
      runtime: this.#runtime,
      node: this.#node,
      onStopped: () => this.#stopped.resolve(undefined),
    });
    this.statusManager = pods.statusManager;
    this.probes = pods.probes;
    this.supervisor = pods.supervisor;
    this.supervisor.ends.subscribe(({ uid }, end) => {
      this.#eviction?.podEnded(uid, end);
      this.plugins?.podEnded(uid, end);
      if (end === 'Finished') this.shutdown?.podEnded(uid);
    });
    this.#streams = new LoopStreams(context, {
      pleg: this.pleg,
      configuration,
      objectChanges,
      send: (event) => this.supervisor.send(event),
      onHousekeeping: () => this.#onHousekeeping(),
    });
    this.#eviction = this.#buildEviction();
    this.shutdown = this.#buildShutdown();
    this.cluster = options.cluster?.(this.#core());
    this.csi = options.csi?.(this.#core());
    this.#dra = options.dra?.(this.#core());
    this.devicePlugins = options.devicePlugins?.(this.#core());
    this.plugins = options.plugins?.(this.#core());
    const { supervisor, shutdown, cluster, plugins } = this;
    this.#node.askActors({ supervisor, eviction: this.#eviction, shutdown, cluster, plugins });
    if (cluster) {
      pods.staticPodSyncs.subscribe((pod) => cluster.staticPodSynced(pod));
      supervisor.mirrorPods.subscribe(() => cluster.mirrorPodSeen());
    }
    this.#runtime.problems.subscribe((problem) => this.#onRuntime(problem));
    this.#runtime.networkChanges.subscribe(() => this.cluster?.reportNow());
    this.roots = [supervisor.actor, ...(cluster?.earlierActors ?? [])];
    this.transitions = nodeTransitions(this.roots, context.clock);
  }

  /** Begins as soon as the runtime is ready. The agent can be stopped while the runtime does not answer. */
  start(): void {
    this.supervisor.start();
    this.cluster?.start();
    this.#runtime.check();
  }

  /** Stops routing, and ends the pods first where asked to. Effects may still be in flight when this resolves. */
  async shutDown(exitWithPods: boolean): Promise<void> {
    if (exitWithPods) {
      this.supervisor.ended.close();
      await this.endGroups();
    }
    this.supervisor.send({ type: 'SHUTDOWN', exitWithPods });
    await this.#stopped.promise;
  }

  /**
   * Ends the pods for a shutdown of the node, group by group. Their last statuses are written before the agent, or the machine,
   * ends.
   */
  async endGroups(): Promise<void> {
    if (this.shutdown === undefined) return;
    await this.shutdown.shutDown();
    if (this.cluster === undefined) return;
    const limit = new AbortController();
    const timeUp = sleep(this.#context.clock, FLUSH_LIMIT_MS, limit.signal);
    await Promise.race([this.cluster.flush(), timeUp]);
    limit.abort();
    await timeUp.catch(() => undefined);
  }

  /** Stops all parts. Resolves when no effect is in flight. Containers keep running. */
  async stop(): Promise<void> {
    this.#streams.stop();
    this.#runtime.stop();
    this.probes.stop();
    this.#eviction?.stop();
    this.shutdown?.stop();
    await this.plugins?.stop();
    this.csi?.beginStop();
    this.#dra?.beginStop();
    await this.devicePlugins?.stop();
    await this.supervisor.stop();
    this.csi?.stop();
    this.#dra?.stop();
    await this.cluster?.stop();
  }

  /** Which pods would be evicted now. Rejects where the node cannot be measured. */
  async explainEviction(): Promise<EvictionExplanation | undefined> {
    const plugins = this.plugins && { plugins: this.plugins.view() };
    const explanation = await this.#eviction?.explain();
    if (plugins === undefined) return explanation;
    return { conditions: [], thresholds: [], ...explanation, ...plugins };
  }

  /** The latest figures and choices of eviction; undefined where no pod is evicted. */
  get eviction(): EvictionManager['context'] | undefined {
    return this.#eviction?.context;
  }

  /** Why the agent is not healthy, if so. */
  health(): string | undefined {
    return this.#node.problem() ?? this.#options.sourceProblem?.() ?? this.plugins?.health();
  }

  nodeFacts(): NodeFacts {
    return this.#node.facts();
  }

  nodeHealth(): NodeHealth {
    return this.#node.health();
  }

  #buildNodeState(): NodeState {
    const { syncFrequencyMs, hostIPs, nodeFacts, parts } = this.#options;
    return new NodeState(this.#context, {
      syncFrequencyMs,
      hostIPs,
      ownFacts: nodeFacts,
      pleg: this.pleg,
      devices: parts.devices,
      runtimeState: this.#runtime.state,
    });
  }

  #buildEviction(): EvictionManager | undefined {
    const { eviction, parts } = this.#options;
    if (eviction === undefined) return undefined;
    const { registry, actor: parent } = this.supervisor;
    return new EvictionManager(
      { ...this.#context, parent },
      {
        ...eviction,
        reclaimer: parts.reclaimer,
        nodeName: this.#options.nodeFacts().name,
        registry,
        onPressure: this.#options.cluster && (() => this.cluster?.reportNow()),
      },
    );
  }

  #core(): AgentCore {
    const { supervisor, statusManager } = this;
    return {
      ...this.#context,
      parent: supervisor.actor,
      registry: supervisor.registry,
      desired: supervisor.desired,
      deleted: supervisor.ended,
      ends: supervisor.ends,
      statusManager,
      health: () => this.#node.health(),
      onAllocatable: () => supervisor.offerRoom(),
      sync: (uids) => supervisor.send({ type: 'SYNC', uids }),
      removeOrphans: () => supervisor.retryOrphans(),
      reportNow: () => this.cluster?.reportNow(),
    };
  }

  /**
   * In a cluster, pods that end with the agent end as in a shutdown of the node, so that their controllers see that they have
   * failed.
   */
  #buildShutdown(): NodeShutdown | undefined {
    const { shutdownPeriods = [], cluster, shutdownRecord: record } = this.#options;
    const periods = shutdownPeriods.length === 0 && cluster ? [OWN_GRACE_PERIODS] : shutdownPeriods;
    if (periods.length === 0) return undefined;
    const { registry, actor } = this.supervisor;
    return new NodeShutdown(
      { ...this.#context, parent: actor },
      {
        periods,
        pods: () => registry.activePods(),
        phaseOf: (uid) => this.statusManager.get(uid)?.phase as PodPhase | undefined,
        kill: (uid, options) => registry.kill(uid, options),
        onChange: () => this.cluster?.reportNow(),
        record,
      },
    );
  }

  /** When the runtime is ready for the first time, starts everything that must know what runs already. */
  #onRuntime(problem: string | undefined): void {
    if (problem === undefined && !this.#looping) this.#startLoop();
    this.supervisor.send(
      problem === undefined ? { type: 'RUNTIME_READY' } : { type: 'RUNTIME_NOT_READY', problem },
    );
    this.cluster?.reportNow();
  }

  #startLoop(): void {
    this.#looping = true;
    this.supervisor.adopt();
    this.pleg.start();
    this.#options.parts.start({
      pods: () => this.pleg.pods(),
      isPodRemovable: (uid) => this.supervisor.registry.shouldPodContentBeRemoved(uid),
      isPodTerminated: (uid) => this.supervisor.registry.shouldPodRuntimeBeRemoved(uid),
    });
    this.#streams.start();
    this.#eviction?.start();
    this.#dra?.start();
    this.devicePlugins?.start();
    this.plugins?.start();
    this.#streams.startConfiguration();
  }

  #onHousekeeping(): void {
    this.#node.looped();
    this.supervisor.send({ type: 'HOUSEKEEPING' });
    if (!this.supervisor.synced) return;
    this.cluster?.cleanUp();
    this.csi?.podsKnown();
  }
}
