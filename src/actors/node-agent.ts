/** The agent of one node: its actors, and what they work with. Time, randomness and the node itself come from outside. */
import { type Observable, Subscription } from 'rxjs';
import type { ActorOptions } from 'xstate';
import type { supervisorMachine, SupervisorEvent } from '../machines/supervisor-machine.ts';
import { containerID } from '../policies/status/container-state.ts';
import type { EvictionExplanation } from '../policies/eviction/explanation.ts';
import { hostIPsOf } from '../policies/node-status/host-ips.ts';
import type { NodeHealth } from '../policies/node-status/ready-problems.ts';
import { OWN_GRACE_PERIODS } from '../policies/shutdown/shutdown-periods.ts';
import { crashLoopBackOff } from '../policies/sync/crash-loop-backoff.ts';
import { Pleg } from '../runtime/pleg/pleg.ts';
import type { NodeParts } from '../runtime/node/pod-node.ts';
import { PodRuntime } from '../runtime/pods/pod-runtime.ts';
import { RuntimeState } from '../runtime/pleg/runtime-state.ts';
import { StartGate } from '../runtime/pods/start-gate.ts';
import { sleep } from '../system/sleep.ts';
import { Timer } from '../system/timer.ts';
import { withNodeObject } from '../policies/node/node-object-facts.ts';
import type { Clock } from '../types/clock.ts';
import type { EventRecorder, NodeEventRecorder } from '../types/event-recorder.ts';
import { type Logger, podFields } from '../types/logger.ts';
import type { Node, PodPhase } from '../types/kubernetes.ts';
import type { NodeFacts, OwnNodeFacts } from '../types/node-facts.ts';
import type { ShutdownPeriod } from '../types/shutdown-settings.ts';
import type { AgentCore, ClusterParts } from './cluster/cluster-parts.ts';
import { ContainerEnds } from './pods/container-ends.ts';
import type { EvictionParts } from './eviction/eviction-figures.ts';
import { EvictionManager } from './eviction/eviction-manager.ts';
import type { PodEffects } from './pods/pod-actor.ts';
import { podEffects } from './pods/pod-effects.ts';
import { ProbeManager } from './probes/probe-manager.ts';
import type { ProbeNews } from './probes/probe-worker.ts';
import { StatusManager } from './pods/status-manager.ts';
import { NodeShutdown } from './node-shutdown.ts';
import type { StartGates } from './start/pod-starts.ts';
import { Supervisor } from './supervisor.ts';

/** How long an agent that ends with its pods waits for an API server that does not answer. */
const FLUSH_LIMIT_MS = 5_000;
const HOUSEKEEPING_PERIOD_MS = 2_000;
/** The safety net under the runtime's events. */
const RELIST_PERIOD_MS = 10_000;
/** The loop counts as stuck when it has not moved for twice the sync frequency, but not before this (the kubelet's). */
const LOOP_STUCK_MIN_MS = 5 * 60_000;

export interface NodeAgentOptions {
  readonly parts: NodeParts;
  /** Every source must be seen once before anything is removed. */
  readonly sources: readonly string[];
  /** The events of the sources. Subscribed to once the runtime has listed its pods. */
  readonly configuration: Observable<SupervisorEvent>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Addresses of the node, the primary one first. */
  readonly hostIPs: readonly string[];
  readonly syncFrequencyMs: number;
  /** As they are now, without the capabilities of the runtime. */
  readonly nodeFacts: () => OwnNodeFacts;
  /** Of victims of preemption that are otherwise equal, lower priority goes first. */
  readonly preemptionLowerPriorityFirst: boolean;
  /** Without it no pod is evicted. */
  readonly eviction?: EvictionParts;
  /** Makes the node's part in a cluster. Without it the node belongs to no cluster. */
  readonly cluster?: (core: AgentCore) => ClusterParts;
  /** How long pods have when the node shuts down, by rising priority. Empty: a shutdown does not wait for pods. */
  readonly shutdownPeriods?: readonly ShutdownPeriod[];
  readonly maxContainerRestartPeriodMs: number;
  readonly maximumDeadContainersPerContainer: number;
  /** How many sandboxes and containers the runtime starts at a time. */
  readonly startsAtOnce: number;
  readonly recorder: EventRecorder & NodeEventRecorder;
  readonly logger: Logger;
  readonly inspect?: ActorOptions<typeof supervisorMachine>['inspect'];
  /** Puts something between the pod actors and their effects: the judges of tests and simulation do. */
  readonly wrapEffects?: (effects: PodEffects) => PodEffects;
  /** The same for what pods ask before they start. */
  readonly wrapGates?: (gates: StartGates) => StartGates;
}

export class NodeAgent {
  readonly statusManager: StatusManager;
  readonly #containerEnds: ContainerEnds;
  readonly pleg: Pleg;
  readonly probes: ProbeManager;
  readonly supervisor: Supervisor;
  /** Undefined where a shutdown of the node does not wait for pods, outside a cluster. */
  readonly shutdown: NodeShutdown | undefined;
  readonly cluster: ClusterParts | undefined;
  readonly #options: NodeAgentOptions;
  readonly #runtimeState: RuntimeState;
  readonly #eviction: EvictionManager | undefined;
  readonly #subscriptions = new Subscription();
  readonly #stopped = Promise.withResolvers<undefined>();
  #runtimeName = '';
  #looping = false;
  #lastLoopAt: number;
  readonly #housekeeping: Timer;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
    const { clock, parts } = options;
    this.#containerEnds = new ContainerEnds(options.logger);
    const { runtime } = parts;
    this.#lastLoopAt = clock.now();
    this.#housekeeping = new Timer(clock);
    this.pleg = new Pleg({
      runtime,
      clock,
      relistPeriodMs: RELIST_PERIOD_MS,
      onRelist: (relist) => this.#checkWith(relist),
    });
    this.#runtimeState = new RuntimeState({
      runtime,
      clock,
      prepare: () => this.#prepare(),
      onReady: () => this.#onRuntimeReady(),
      onNotReady: (problem) => {
        this.supervisor.send({ type: 'RUNTIME_NOT_READY', problem });
        this.cluster?.reportNow();
      },
    });
    this.statusManager = this.#buildStatusManager();
    this.probes = this.#buildProbes();
    this.supervisor = this.#buildSupervisor();
    this.#eviction = this.#buildEviction();
    this.shutdown = this.#buildShutdown();
    this.cluster = options.cluster?.(this.#core());
  }

  /** Begins as soon as the runtime is ready. The agent can be stopped while the runtime does not answer. */
  start(): void {
    this.supervisor.start();
    this.cluster?.start();
    void this.#runtimeState.check();
  }

  /** Stops routing, and ends the pods first where asked to. Effects may still be in flight when this resolves. */
  async shutDown(exitWithPods: boolean): Promise<void> {
    if (exitWithPods) await this.endGroups();
    this.supervisor.send({ type: 'SHUTDOWN', exitWithPods });
    await this.#stopped.promise;
  }

  /** Ends the pods for a shutdown of the node, group by group. What became of them is told before the agent, or the machine, ends. */
  async endGroups(): Promise<void> {
    if (this.shutdown === undefined) return;
    await this.shutdown.shutDown();
    if (this.cluster === undefined) return;
    const limit = new AbortController();
    const timeUp = sleep(this.#options.clock, FLUSH_LIMIT_MS, limit.signal);
    await Promise.race([this.cluster.flush(), timeUp]);
    limit.abort();
    await timeUp.catch(() => undefined);
  }

  /** Stops all parts. Resolves when no effect is in flight. Containers keep running. */
  async stop(): Promise<void> {
    this.#subscriptions.unsubscribe();
    this.#housekeeping.disarm();
    this.#runtimeState.stop();
    this.probes.stop();
    this.pleg.stop();
    this.#eviction?.stop();
    this.shutdown?.stop();
    await this.supervisor.stop();
    await this.cluster?.stop();
  }

  /** Which pods would be evicted now. Rejects where the node cannot be measured. */
  async explainEviction(): Promise<EvictionExplanation | undefined> {
    return this.#eviction?.explain();
  }

  /** Why the agent is not healthy, if so. */
  health(): string | undefined {
    const { clock, syncFrequencyMs } = this.#options;
    const stuckMs = Math.max(2 * syncFrequencyMs, LOOP_STUCK_MIN_MS);
    if (clock.now() - this.#lastLoopAt > stuckMs) return 'the sync loop has not moved for too long';
    return this.supervisor.runtimeProblem ?? this.pleg.health();
  }

  /** With the capabilities of the runtime, which are known once it is ready. In a cluster, as the API server has the node. */
  nodeFacts(node: Node | undefined = this.cluster?.node()): NodeFacts {
    const { supplementalGroupsPolicy } = this.#runtimeState;
    const facts = withNodeObject(this.#options.nodeFacts(), node);
    const conditions = this.#eviction?.conditions() ?? facts.conditions;
    const isShuttingDown = this.shutdown?.isShuttingDown === true;
    return { ...facts, conditions, supplementalGroupsPolicy, ...(isShuttingDown && { isShuttingDown }) };
  }

  #buildStatusManager(): StatusManager {
    const { clock, logger } = this.#options;
    return new StatusManager({
      now: () => clock.now(),
      mirrorPodOf: (pod) => this.supervisor.desired.ownMirrorPodOf(pod),
      onRefused: (pod, problem) => logger.warn({ ...podFields(pod.metadata), problem }, 'Status is dropped'),
    });
  }

  /** What decides whether the node is ready. */
  nodeHealth(): NodeHealth {
    const isShuttingDown = this.shutdown?.isShuttingDown === true;
    return { runtime: this.#runtimeState.health(), plegProblem: this.pleg.health(), isShuttingDown };
  }

  #buildProbes(): ProbeManager {
    const { parts, clock, random, recorder, logger } = this.#options;
    const { runtime, node } = parts;
    return new ProbeManager({
      runtime,
      clock,
      random,
      recorder,
      logger,
      podStatus: (uid) => this.statusManager.get(uid),
      podIP: (pod) => {
        const seen = this.pleg.lastSeen(pod.metadata.uid);
        return seen && node.podIP(pod, seen);
      },
      send: (event) => {
        this.#showProbeResult(event);
        this.supervisor.send(event);
      },
      parent: () => this.supervisor.actor,
    });
  }

  /** The pod's next status follows only after what the pod does now. */
  #showProbeResult({ uid, probe, result, containerId }: ProbeNews): void {
    const pod = this.supervisor.desired.get(uid);
    if (pod === undefined) return;
    const [id, isSuccess] = [containerID(this.#runtimeName, containerId), result === 'Success'];
    if (probe === 'readiness') this.statusManager.setContainerReadiness(pod, id, isSuccess);
    if (probe === 'startup') this.statusManager.setContainerStartup(pod, id, isSuccess);
  }

  /** In a cluster, as its node object has them. */
  #hostIPs(): readonly string[] {
    const ofNode = hostIPsOf(this.cluster?.node()?.status?.addresses ?? []);
    return ofNode.length > 0 ? ofNode : this.#options.hostIPs;
  }

  #buildSupervisor(): Supervisor {
    const { parts, sources, clock, random, recorder, logger, inspect, wrapEffects, wrapGates } =
      this.#options;
    const { syncFrequencyMs, preemptionLowerPriorityFirst } = this.#options;
    const { node } = parts;
    const { pleg, probes, statusManager } = this;
    const podRuntime = this.#buildPodRuntime();
    const effects = podEffects({
      node,
      pleg,
      probes,
      statusManager,
      podRuntime,
      clock,
      recorder,
      logger,
      hostIPs: () => this.#hostIPs(),
      onStaticPodSync: (pod) => this.cluster?.staticPodSynced(pod),
      containerEnds: this.#containerEnds,
      runtimeName: () => this.#runtimeName,
      runtimeProblem: () => this.#runtimeState.runtimeProblem(),
      networkProblem: () => this.#runtimeState.networkProblem(),
      onRuntimeDoubtful: () => void this.#runtimeState.check(),
    });
    const supervisor = new Supervisor({
      node,
      pleg,
      probes,
      statusManager,
      podRuntime,
      clock,
      random,
      recorder,
      logger,
      sources,
      syncFrequencyMs,
      preemptionLowerPriorityFirst,
      nodeFacts: () => this.nodeFacts(),
      ...(this.#options.cluster && { freshNodeFacts: () => this.#freshNodeFacts() }),
      effects: wrapEffects?.(effects) ?? effects,
      ...(wrapGates && { wrapGates }),
      ...(inspect && { inspect }),
      onStopped: () => this.#stopped.resolve(undefined),
      onMirrorPod: () => this.cluster?.mirrorPodSeen(),
    });
    supervisor.ends.subscribe(({ uid }, end) => {
      if (end === 'Forgotten') this.#containerEnds.forget(uid);
      this.#eviction?.podEnded(uid, end);
      if (end === 'Finished') this.shutdown?.podEnded(uid);
    });
    return supervisor;
  }

  #buildEviction(): EvictionManager | undefined {
    const { eviction, parts, clock, recorder, logger, inspect } = this.#options;
    if (eviction === undefined) return undefined;
    return new EvictionManager({
      ...eviction,
      clock,
      recorder,
      logger,
      reclaimer: parts.reclaimer,
      nodeName: this.#options.nodeFacts().name,
      registry: this.supervisor.registry,
      parent: this.supervisor.actor,
      ...(this.#options.cluster && { onPressure: () => this.cluster?.reportNow() }),
      ...(inspect && { inspect }),
    });
  }

  /** Rejects where the API server does not answer. */
  async #freshNodeFacts(): Promise<NodeFacts> {
    return this.nodeFacts(await this.cluster?.freshNode());
  }

  #core(): AgentCore {
    const { supervisor, statusManager } = this;
    const { clock, random, recorder, logger, inspect } = this.#options;
    return {
      registry: supervisor.registry,
      desired: supervisor.desired,
      ends: supervisor.ends,
      statusManager,
      health: () => this.nodeHealth(),
      recorder,
      parent: supervisor.actor,
      clock,
      random,
      logger,
      ...(inspect && { inspect }),
    };
  }

  /** In a cluster, pods that end with the agent end as in a shutdown of the node: whoever made them is told that they are over. */
  #buildShutdown(): NodeShutdown | undefined {
    const { shutdownPeriods = [], cluster, clock, recorder, logger, inspect } = this.#options;
    const periods = shutdownPeriods.length === 0 && cluster ? [OWN_GRACE_PERIODS] : shutdownPeriods;
    if (periods.length === 0) return undefined;
    const { registry } = this.supervisor;
    return new NodeShutdown({
      periods,
      pods: () => registry.activePods(),
      phaseOf: (uid) => this.statusManager.get(uid)?.phase as PodPhase | undefined,
      kill: (uid, options) => registry.kill(uid, options),
      onChange: () => this.cluster?.reportNow(),
      clock,
      recorder,
      logger,
      ...(inspect && { inspect }),
    });
  }

  #buildPodRuntime(): PodRuntime {
    const { parts, clock, recorder, logger, startsAtOnce } = this.#options;
    const { runtime, node } = parts;
    return new PodRuntime({
      runtime,
      node,
      recorder,
      logger,
      clock,
      backOff: crashLoopBackOff(this.#options.maxContainerRestartPeriodMs),
      gate: new StartGate({ clock, atOnce: startsAtOnce }),
      deadInstancesKept: this.#options.maximumDeadContainersPerContainer,
      onContainerEnd: (pod, instance) => this.#containerEnds.tell(pod, instance),
      onSandboxReady: (pod) => this.statusManager.sandboxReady(pod),
    });
  }

  /** Before the runtime counts as ready: asks for its name and lists its pods. */
  async #prepare(): Promise<void> {
    this.#runtimeName = (await this.#options.parts.runtime.version()).runtimeName;
    await this.pleg.relist();
  }

  /** Asks at once: with a runtime that hangs, a relist ends only after minutes. */
  #checkWith(relist: Promise<void>): void {
    void this.#runtimeState.check();
    relist.catch(() => this.#runtimeState.check());
  }

  /** The first time, starts everything that depends on knowing what runs already. */
  #onRuntimeReady(): void {
    if (!this.#looping) this.#startLoop();
    this.supervisor.send({ type: 'RUNTIME_READY' });
    this.cluster?.reportNow();
  }

  #startLoop(): void {
    const { parts, configuration } = this.#options;
    this.#looping = true;
    this.supervisor.adopt();
    this.pleg.start();
    parts.start({
      pods: () => this.pleg.pods(),
      isPodRemovable: (uid) => this.supervisor.registry.shouldPodContentBeRemoved(uid),
      isPodTerminated: (uid) => this.supervisor.registry.shouldPodRuntimeBeRemoved(uid),
    });
    this.#route(this.pleg.changes, (uid) => this.supervisor.send({ type: 'PLEG', uid }));
    this.#armHousekeeping();
    this.#eviction?.start();
    this.#route(configuration, (event) => this.supervisor.send(event));
  }

  #route<T>(stream: Observable<T>, next: (value: T) => void): void {
    this.#subscriptions.add(stream.subscribe(next));
  }

  #armHousekeeping(): void {
    const { clock } = this.#options;
    this.#housekeeping.arm(HOUSEKEEPING_PERIOD_MS, () => {
      this.#armHousekeeping();
      this.#lastLoopAt = clock.now();
      this.supervisor.send({ type: 'HOUSEKEEPING' });
      if (this.supervisor.synced) this.cluster?.cleanUp();
    });
  }
}
