/** The agent of one node: its actors, and what they work with. Time, randomness and the node itself come from outside. */
import { NEVER, type Observable, Subscription } from 'rxjs';
import type { ActorOptions } from 'xstate';
import type { supervisorMachine, SupervisorEvent } from '../machines/supervisor-machine.ts';
import { containerID } from '../policies/status/container-state.ts';
import type { EvictionExplanation } from '../policies/eviction/explanation.ts';
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
import type { Clock } from '../types/clock.ts';
import type { EventRecorder, NodeEventRecorder } from '../types/event-recorder.ts';
import { type Logger, podFields } from '../types/logger.ts';
import type { PodPhase } from '../types/kubernetes.ts';
import type { AgentMeasurements } from '../types/measurements.ts';
import type { NodeFacts, OwnNodeFacts } from '../types/node-facts.ts';
import type { ShutdownPeriod } from '../types/shutdown-settings.ts';
import type { AgentCore, ClusterParts } from './cluster/cluster-parts.ts';
import { ContainerEnds } from './pods/container-ends.ts';
import type { EvictionParts } from './eviction/eviction-figures.ts';
import { EvictionManager } from './eviction/eviction-manager.ts';
import { measuredEffects, measurePods, measureRelist, podObserver } from './measured-pods.ts';
import type { EndedPodsStore } from './pods/ended-pods.ts';
import type { PodEffects } from './pods/pod-actor.ts';
import { podEffects } from './pods/pod-effects.ts';
import type { NodePlugins } from './plugins/plugin-parts.ts';
import { ProbeManager } from './probes/probe-manager.ts';
import type { ProbeNews } from './probes/probe-worker.ts';
import { StatusManager } from './pods/status-manager.ts';
import { NodeShutdown } from './node-shutdown.ts';
import { NodeState } from './node-state.ts';
import { nodeTransitions, type NodeTransitions } from './node-transitions.ts';
import type { StartGates } from './start/pod-starts.ts';
import { Supervisor } from './supervisor.ts';

/** How long an agent that ends with its pods waits for an API server that does not answer. */
const FLUSH_LIMIT_MS = 5_000;
const HOUSEKEEPING_PERIOD_MS = 2_000;
/** The safety net under the runtime's events. */
const RELIST_PERIOD_MS = 10_000;

export interface NodeAgentOptions {
  readonly parts: NodeParts;
  /** Every source must be seen once before anything is removed. */
  readonly sources: readonly string[];
  /** The events of the sources. Subscribed to once the runtime has listed its pods. */
  readonly configuration: Observable<SupervisorEvent>;
  /** UIDs of pods whose objects at the API server have changed. */
  readonly objectChanges?: Observable<string>;
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
  /** Makes the part that asks eviction plugins. Without it none is asked. */
  readonly plugins?: (core: AgentCore) => NodePlugins;
  /** How long pods have when the node shuts down, by rising priority. Empty: a shutdown does not wait for pods. */
  readonly shutdownPeriods?: readonly ShutdownPeriod[];
  readonly maxContainerRestartPeriodMs: number;
  readonly maximumDeadContainersPerContainer: number;
  /** How many sandboxes and containers the runtime starts at a time. */
  readonly startsAtOnce: number;
  /** Without it, deletions of pods are forgotten when the agent stops. */
  readonly endedPods?: EndedPodsStore;
  readonly recorder: EventRecorder & NodeEventRecorder;
  readonly logger: Logger;
  readonly inspect?: ActorOptions<typeof supervisorMachine>['inspect'];
  /** Puts something between the pod actors and their effects: the judges of tests and simulation do. */
  readonly wrapEffects?: (effects: PodEffects) => PodEffects;
  /** The same for what pods ask before they start. */
  readonly wrapGates?: (gates: StartGates) => StartGates;
  /** Without it nothing is measured. */
  readonly measurements?: AgentMeasurements;
}

export class NodeAgent {
  readonly statusManager: StatusManager;
  readonly #containerEnds: ContainerEnds;
  readonly pleg: Pleg;
  readonly probes: ProbeManager;
  readonly supervisor: Supervisor;
  /** Of all actors of the node. */
  readonly transitions: NodeTransitions;
  /** Undefined where a shutdown of the node does not wait for pods, outside a cluster. */
  readonly shutdown: NodeShutdown | undefined;
  readonly cluster: ClusterParts | undefined;
  readonly plugins: NodePlugins | undefined;
  readonly #options: NodeAgentOptions;
  readonly #runtimeState: RuntimeState;
  readonly #node: NodeState;
  readonly #eviction: EvictionManager | undefined;
  readonly #subscriptions = new Subscription();
  readonly #stopped = Promise.withResolvers<undefined>();
  #runtimeName = '';
  #looping = false;
  readonly #housekeeping: Timer;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
    const { clock, parts } = options;
    this.#containerEnds = new ContainerEnds(options.logger);
    const { runtime } = parts;
    this.#housekeeping = new Timer(clock);
    this.pleg = new Pleg({
      runtime,
      clock,
      relistPeriodMs: RELIST_PERIOD_MS,
      onRelist: (relist) => {
        measureRelist(options.measurements, relist);
        this.#checkWith(relist);
      },
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
    this.#node = this.#buildNodeState();
    this.statusManager = this.#buildStatusManager();
    this.probes = this.#buildProbes();
    this.supervisor = this.#buildSupervisor();
    this.#eviction = this.#buildEviction();
    this.shutdown = this.#buildShutdown();
    const { ends } = this.supervisor;
    if (options.measurements) measurePods(options.measurements, { statusManager: this.statusManager, ends });
    this.cluster = options.cluster?.(this.#core());
    this.plugins = options.plugins?.(this.#core());
    const own = [this.supervisor, this.#eviction, this.shutdown];
    const actors = own.flatMap((part) => part?.actor ?? []);
    this.transitions = nodeTransitions([...actors, ...(this.cluster?.actors ?? [])], clock);
  }

  /** Begins as soon as the runtime is ready. The agent can be stopped while the runtime does not answer. */
  start(): void {
    this.supervisor.start();
    this.cluster?.start();
    void this.#runtimeState.check();
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
    await this.plugins?.stop();
    await this.supervisor.stop();
    await this.cluster?.stop();
  }

  /** Which pods would be evicted now. Rejects where the node cannot be measured. */
  async explainEviction(): Promise<EvictionExplanation | undefined> {
    const plugins = this.plugins && { plugins: this.plugins.view() };
    const explanation = await this.#eviction?.explain();
    if (plugins === undefined) return explanation;
    return { conditions: [], thresholds: [], ...explanation, ...plugins };
  }

  /** Why the agent is not healthy, if so. */
  health(): string | undefined {
    return this.#node.problem();
  }

  nodeFacts(): NodeFacts {
    return this.#node.facts();
  }

  nodeHealth(): NodeHealth {
    return this.#node.health();
  }

  #buildNodeState(): NodeState {
    const { clock, syncFrequencyMs, hostIPs, nodeFacts } = this.#options;
    return new NodeState({
      clock,
      syncFrequencyMs,
      hostIPs,
      ownFacts: nodeFacts,
      pleg: this.pleg,
      runtimeState: this.#runtimeState,
      parts: () => ({
        supervisor: this.supervisor,
        eviction: this.#eviction,
        shutdown: this.shutdown,
        cluster: this.cluster,
        plugins: this.plugins,
      }),
    });
  }

  #buildStatusManager(): StatusManager {
    const { clock, logger } = this.#options;
    return new StatusManager({
      now: () => clock.now(),
      mirrorPodOf: (pod) => this.supervisor.desired.ownMirrorPodOf(pod),
      onRefused: (pod, problem) => logger.warn({ ...podFields(pod.metadata), problem }, 'Status is dropped'),
    });
  }

  #buildProbes(): ProbeManager {
    const { parts, clock, random, recorder, logger, measurements } = this.#options;
    const { runtime, node } = parts;
    return new ProbeManager({
      ...(measurements && { measurements }),
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

  #buildSupervisor(): Supervisor {
    const { parts, sources, clock, random, recorder, logger, inspect, wrapEffects, wrapGates } =
      this.#options;
    const { syncFrequencyMs, preemptionLowerPriorityFirst, measurements } = this.#options;
    const { node } = parts;
    const { pleg, probes, statusManager } = this;
    const podRuntime = this.#buildPodRuntime();
    const own = podEffects({
      node,
      pleg,
      probes,
      statusManager,
      podRuntime,
      clock,
      recorder,
      logger,
      hostIPs: () => this.#node.hostIPs(),
      onStaticPodSync: (pod) => this.cluster?.staticPodSynced(pod),
      endKept: () => this.supervisor.ended.kept(),
      containerEnds: this.#containerEnds,
      runtimeName: () => this.#runtimeName,
      runtimeProblem: () => this.#runtimeState.runtimeProblem(),
      networkProblem: () => this.#runtimeState.networkProblem(),
      onRuntimeDoubtful: () => void this.#runtimeState.check(),
    });
    const effects = wrapEffects?.(own) ?? own;
    const supervisor = new Supervisor({
      ...(measurements && { podObserver: podObserver(measurements) }),
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
      nodeFacts: () => this.#node.facts(),
      ...(this.#options.cluster && { freshNodeFacts: () => this.#node.freshFacts() }),
      effects: measurements ? measuredEffects(effects, measurements) : effects,
      ...(wrapGates && { wrapGates }),
      ...(this.#options.endedPods && { endedPods: this.#options.endedPods }),
      ...(inspect && { inspect }),
      onStopped: () => this.#stopped.resolve(undefined),
      onMirrorPod: () => this.cluster?.mirrorPodSeen(),
    });
    supervisor.ends.subscribe(({ uid }, end) => {
      if (end === 'Forgotten') this.#containerEnds.forget(uid);
      this.#eviction?.podEnded(uid, end);
      this.plugins?.podEnded(uid, end);
      if (end === 'Finished') this.shutdown?.podEnded(uid);
    });
    return supervisor;
  }

  #buildEviction(): EvictionManager | undefined {
    const { eviction, parts, clock, recorder, logger, inspect, measurements } = this.#options;
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
      ...(measurements && { onEvicted: (signal: string) => measurements.evicted(signal) }),
      ...(inspect && { inspect }),
    });
  }

  #core(): AgentCore {
    const { supervisor, statusManager } = this;
    const { clock, random, recorder, logger, inspect } = this.#options;
    return {
      registry: supervisor.registry,
      desired: supervisor.desired,
      deleted: supervisor.ended,
      ends: supervisor.ends,
      statusManager,
      health: () => this.#node.health(),
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
      parent: this.supervisor.actor,
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
    const { parts, configuration, objectChanges = NEVER } = this.#options;
    this.#looping = true;
    this.supervisor.adopt();
    this.pleg.start();
    parts.start({
      pods: () => this.pleg.pods(),
      isPodRemovable: (uid) => this.supervisor.registry.shouldPodContentBeRemoved(uid),
      isPodTerminated: (uid) => this.supervisor.registry.shouldPodRuntimeBeRemoved(uid),
    });
    this.#route(this.pleg.changes, (uid) => this.supervisor.send({ type: 'PLEG', uid }));
    this.#route(objectChanges, (uid) => this.supervisor.send({ type: 'SYNC', uids: [uid] }));
    this.#armHousekeeping();
    this.#eviction?.start();
    this.plugins?.start();
    this.#route(configuration, (event) => this.supervisor.send(event));
  }

  #route<T>(stream: Observable<T>, next: (value: T) => void): void {
    this.#subscriptions.add(stream.subscribe(next));
  }

  #armHousekeeping(): void {
    this.#housekeeping.arm(HOUSEKEEPING_PERIOD_MS, () => {
      this.#armHousekeeping();
      this.#node.looped();
      this.supervisor.send({ type: 'HOUSEKEEPING' });
      if (this.supervisor.synced) this.cluster?.cleanUp();
    });
  }
}
