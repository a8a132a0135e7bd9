/** One agent on a simulated node, from its start until it is stopped or killed. */
import { map, type Observable, Subject, takeUntil } from 'rxjs';
import type { ActorContext } from '../../agent/actors/actor-context.ts';
import { EventFanOut } from '../../agent/actors/cluster/event-fan-out.ts';
import type { EvictionParts } from '../../agent/actors/eviction/eviction-figures.ts';
import { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { NodeAgentOptions } from '../../agent/actors/node/node-agent-options.ts';
import type { PodEffects } from '../../agent/actors/pods/pod-actor.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import type { PodContext } from '../../agent/machines/pod-machine.ts';
import type { SupervisorEvent } from '../../agent/machines/supervisor-machine.ts';
import type { EndedPod } from '../../agent/policies/termination/ended-pod.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import type { SimulatedConnection } from '../runtime/simulated-connection.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { CallUnderWay } from '../runtime/witness.ts';
import { channelEvent, podConfig } from '../../agent/sources/pod-config.ts';
import { problemText, type SourceProblem } from '../../agent/sources/source.ts';
import type { Clock } from '../../types/clock.ts';
import type { ContainerConfig } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { TransitionListener } from '../../types/transition.ts';
import type { SimulatedApiClient } from '../api/simulated-api-client.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { Violation } from '../history.ts';
import { AdmissionJudge } from '../judges/admission-judge.ts';
import type { EffectName } from '../judges/effect-judge.ts';
import type { EvictionTruth } from '../judges/eviction/eviction-judge.ts';
import type { HookJudge } from '../judges/hook-judge.ts';
import { LifecycleJudge } from '../judges/lifecycle-judge.ts';
import type { PluginTruth } from '../judges/plugins/plugin-judge.ts';
import { PodEndJudge } from '../judges/pod-end-judge.ts';
import type { RemainsJudge } from '../judges/remains-judge.ts';
import type { Kill } from '../plan/plan.ts';
import { seededRandom, type SeededRandom } from '../plan/seeded-random.ts';
import type { HostDrivers } from '../drivers/host-drivers.ts';
import type { HostDevices } from '../devices/host-devices.ts';
import type { HostPlacement } from '../placement/host-placement.ts';
import { agentPlugins, type HostPlugins } from '../plugins/agent-plugins.ts';
import { evictionConfiguration, type EvictionRules } from '../resources/eviction-rules.ts';
import type { SimulatedResources } from '../resources/simulated-resources.ts';
import { SimulatedStats, type StatsFaults } from '../resources/simulated-stats.ts';
import { ActorInspection } from './actor-inspection.ts';
import { AgentDrivers } from './agent-drivers.ts';
import { AgentCluster, drawnStrategy } from './agent-cluster.ts';
import { AgentClock, judgedLogger } from './agent-clock.ts';
import type { NodeFaults } from './node-fault-draws.ts';
import type { SimulatedDisk } from './simulated-disk.ts';
import { simulatedNode } from './simulated-node.ts';
import { SimulatedReclaimer } from './simulated-reclaimer.ts';
import type { SimulatedSources } from './simulated-sources.ts';
import { type NodeManagers, nodeManagers } from './node-managers.ts';
import { NODE_ADDRESS } from './simulated-status-facts.ts';
import type { NodeReclaim } from '../../agent/policies/eviction/file-system-parts.ts';

/** How long a stopped agent waits for its effects under way, as the daemon does. */
const STOP_LIMIT_MS = 2_000;
const SYNC_FREQUENCY_MS = 60_000;
const MAX_CONTAINER_RESTART_PERIOD_MS = 300_000;

export interface AgentRunOptions {
  readonly node: number;
  /** 1 for the first agent of the node, 2 for the next one, and so on. */
  readonly ordinal: number;
  readonly clock: Clock;
  readonly runtime: SimulatedRuntime;
  readonly disk: SimulatedDisk;
  readonly sources: SimulatedSources;
  readonly api: SimulatedApiServer;
  /** The agent hears at once of its pods at the API server: for tests that say what happens when. */
  readonly hearsAtOnce?: boolean | undefined;
  /** The pods that must not start again, as the disk has them. */
  readonly endedPods: {
    readonly stored: readonly EndedPod[];
    readonly write: (pods: readonly EndedPod[]) => void;
  };
  readonly nodeFacts: () => NodeFacts;
  readonly random: (key: string) => number;
  readonly faults: () => NodeFaults & StatsFaults;
  /** Undefined for an agent that does not evict. */
  readonly eviction?: { readonly resources: SimulatedResources; readonly rules: EvictionRules } | undefined;
  /** Undefined for a node without plugins. */
  readonly plugins?: HostPlugins | undefined;
  /** Undefined for a node without devices. */
  readonly devices?: HostDevices | undefined;
  /** Undefined for a node that keeps no CPUs for containers. */
  readonly placement?: HostPlacement | undefined;
  /** Undefined for a node without CSI and DRA drivers. */
  readonly drivers?: HostDrivers | undefined;
  readonly nameOf: (uid: string) => string | undefined;
  /** Adds a line about the pod to the history. */
  readonly tell: (uid: string, name: string, what: string) => void;
  readonly onViolation: (violation: Violation) => void;
  /** Hears of the transitions of the agent with that ordinal. */
  readonly listen?: ((ordinal: number) => TransitionListener) | undefined;
  /** A pod's actor has reached its last state. */
  readonly onFinished: (uid: string) => void;
  readonly remains: Pick<RemainsJudge, 'removes'>;
  readonly hooks: Pick<HookJudge, 'shows' | 'agentEnds'>;
  /** Whether the pod is an ordinary one of a manifest, and an earlier agent was told to end it, or had a reason to. */
  readonly hadReasonToEnd: (uid: string) => boolean;
}

export class AgentRun {
  readonly agent: NodeAgent;
  readonly lifecycle: LifecycleJudge;
  readonly admission: AdmissionJudge;
  readonly connection: SimulatedConnection;
  /** Containers are told by it which CPUs they share: that is no effect of their pods. */
  readonly #cpusets: SimulatedConnection;
  /** Unix ms. */
  readonly startedAt: number;
  /** Kills that have not been answered. A killed agent does not answer them. */
  unansweredKills = 0;
  /** UIDs of the pods that were killed. This agent does not start them again. */
  readonly killed = new Set<string>();
  readonly #options: AgentRunOptions;
  readonly #clock: AgentClock;
  /** Its connection to the API server. */
  readonly client: SimulatedApiClient;
  /** Its user may change taints, which a node may not. */
  readonly #taintsClient: SimulatedApiClient | undefined;
  readonly #chance: SeededRandom;
  /** A source of chance of its own, so that the number of requests changes nothing else that is left to chance. */
  readonly #clusterRandom: () => number;
  readonly #pluginRandom: () => number;
  readonly #cluster: AgentCluster;
  readonly #inspection: ActorInspection;
  readonly #stats: SimulatedStats | undefined;
  readonly #reclaimer: SimulatedReclaimer | undefined;
  readonly #managers: NodeManagers;
  readonly #drivers: AgentDrivers | undefined;
  readonly #crashed = new Subject<undefined>();
  #isAlive = true;

  constructor(options: AgentRunOptions) {
    this.#options = options;
    const { node, runtime, clock, onViolation } = options;
    this.#clock = new AgentClock(clock);
    this.startedAt = clock.now();
    const { ordinal, random, api } = options;
    const chanceOf = (what: string) => seededRandom(random(`life/${String(ordinal)}${what}`) * 2 ** 32);
    this.#chance = chanceOf('');
    const ofCluster = chanceOf('/cluster');
    this.#clusterRandom = () => ofCluster.next();
    const ofPlugins = chanceOf('/plugins');
    this.#pluginRandom = () => ofPlugins.next();
    this.#taintsClient = options.plugins && api.connectUser();
    this.client = api.connect();
    this.#cluster = this.#buildCluster();
    this.connection = runtime.connect();
    this.lifecycle = new LifecycleJudge({ node, truth: runtime, onViolation }, this.connection.id);
    this.admission = new AdmissionJudge({
      node,
      nodeFacts: () => this.agent.nodeFacts(),
      now: () => clock.now(),
      isRunning: (uid) => runtime.isRunning(uid),
      desired: (uid) => this.agent.supervisor.desired.get(uid),
      found: runtime.uids().filter((uid) => runtime.isRunning(uid)),
      eviction: this.#evictionTruth(),
      plugins: this.#pluginTruth(),
      devices: options.devices?.judge,
      placement: options.placement?.judge,
      onViolation,
    });
    this.#inspection = this.#buildInspection();
    this.#stats = this.#buildStats();
    this.#reclaimer = this.#buildReclaimer();
    this.#cpusets = runtime.connect();
    this.#managers = this.#buildManagers();
    this.#drivers = this.#buildDrivers();
    this.agent = this.#buildAgent();
    this.#drivers?.find();
    this.#listen(options.listen?.(ordinal));
    this.#judgeHooks();
    this.agent.start();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Kills the pod, as eviction and preemption do. Returns false if the agent has no such pod. */
  kill(uid: string, { graceSeconds, reason }: Kill): boolean {
    const { actor } = this.agent.supervisor.registry.get(uid) ?? {};
    if (actor === undefined) return false;
    this.killed.add(uid);
    this.unansweredKills += 1;
    const options = {
      podTerminationGracePeriodSecondsOverride: graceSeconds,
      ...(reason !== undefined && { podStatus: { phase: 'Failed', reason } as const }),
      ...(reason === 'Evicted' && { evict: true }),
    };
    void this.agent.supervisor.killPod(uid, options).then(() => {
      this.unansweredKills -= 1;
      if (!this.#isAlive || actor.getSnapshot().matches('Terminated')) return;
      this.#violated('I7', uid, `a kill is answered in ${stateName(actor.getSnapshot().value)}`);
    });
    return true;
  }

  /** Deletes a pod of a manifest, as a person on the node does. */
  async delete(uid: string, graceSeconds?: number): Promise<void> {
    const { sources } = this.#options;
    const { ended, desired } = this.agent.supervisor;
    const pod = desired.get(uid);
    if (pod === undefined) return;
    const stays = sources.deleteByHand(pod);
    await ended.delete(uid, graceSeconds);
    if (this.#isAlive) stays();
  }

  /** SIGKILL: from now on the agent does nothing. Calls that the runtime has received already may still be carried out. */
  crash(): void {
    this.#options.hooks.agentEnds(this.startedAt);
    this.#isAlive = false;
    this.#clock.stop();
    this.#stats?.close();
    this.#crashed.next(undefined);
    this.connection.cut();
    this.#cpusets.cut();
    this.#reclaimer?.connection.cut();
    this.client.cut();
    this.#taintsClient?.cut();
  }

  /** SIGTERM: the agent stops, and its pods keep running. */
  async stop(): Promise<void> {
    await this.agent.shutDown(false);
    const { promise: timeUp, resolve } = Promise.withResolvers<undefined>();
    this.#clock.setTimeout(() => resolve(undefined), STOP_LIMIT_MS);
    const stopped = Promise.all([this.agent.stop(), this.#cluster.stop(), this.#managers.stop()]);
    await Promise.race([stopped, timeUp]);
    if (this.#isAlive) this.crash();
  }

  /** A call to the runtime has begun. */
  callBegan(call: CallUnderWay): void {
    this.lifecycle.callBegan(call);
    if (call.connection === this.#reclaimer?.connection.id) this.admission.evictions?.removes(call);
  }

  /** An abandoned call about the pod has been carried out. */
  landedLate(uid: string): void {
    this.lifecycle.landedLate(uid);
    this.admission.landedLate(uid);
  }

  #listen(listener: TransitionListener | undefined): void {
    if (listener === undefined) return;
    this.agent.transitions.subscribe((...transition) => {
      if (this.#isAlive) listener(...transition);
    });
  }

  #judgeHooks(): void {
    const { statusManager } = this.agent;
    statusManager.news.subscribe(({ uid }) => {
      if (this.#isAlive) this.#options.hooks.shows(uid, statusManager.get(uid) ?? {}, this.startedAt);
    });
  }

  #buildAgent(): NodeAgent {
    const { nodeFacts, endedPods } = this.#options;
    const eviction = this.#evictionParts();
    return new NodeAgent(this.#context(), {
      parts: this.#parts(),
      sources: ['file', 'local', 'api'],
      configuration: this.#configuration(),
      hostIPs: [NODE_ADDRESS],
      syncFrequencyMs: SYNC_FREQUENCY_MS,
      nodeFacts,
      preemptionLowerPriorityFirst: true,
      eviction,
      maxContainerRestartPeriodMs: MAX_CONTAINER_RESTART_PERIOD_MS,
      maximumDeadContainersPerContainer: 1,
      startsAtOnce: 16,
      endedPods: {
        stored: endedPods.stored,
        write: (pods) => {
          if (this.#isAlive) endedPods.write(pods);
          return Promise.resolve();
        },
      },
      objectChanges: this.#cluster.objects.changes,
      cluster: (core) => this.#cluster.join({ ...core, random: this.#clusterRandom }),
      ...this.#plugins(),
      ...(this.#managers.devicePlugins && { devicePlugins: this.#managers.devicePlugins }),
      ...this.#drivers?.options,
      wrapEffects: (effects) => this.#judged(effects),
    });
  }

  #context(): ActorContext {
    const history: ActorContext['recorder'] = {
      event: ({ uid, name }, type, reason) => this.#tell(uid, name, `event ${type} ${reason}`),
      nodeEvent: () => undefined,
    };
    return {
      clock: this.#clock,
      random: () => this.#chance.next(),
      logger: this.#logger(),
      recorder: new EventFanOut(history, this.#cluster.sender),
      inspect: (event) => {
        if (this.#isAlive) this.#inspection.inspect(event);
      },
    };
  }

  #buildManagers(): NodeManagers {
    const { devices, placement } = this.#options;
    devices?.folder.agentStarts();
    devices?.judge.agentStarts();
    return nodeManagers(this.#context(), {
      ...(devices && { devices: { folder: devices.folder, witness: devices.judge } }),
      ...(placement && { placement: { ...placement, runtime: this.#cpusets.resizing } }),
    });
  }

  #buildDrivers(): AgentDrivers | undefined {
    const { drivers: host, nodeFacts } = this.#options;
    return (
      host &&
      new AgentDrivers(this.#context(), {
        host,
        cluster: {
          api: this.client,
          ownNode: () => this.#cluster.node(),
          writtenNode: () => this.#cluster.writtenNode(),
        },
        nodeName: nodeFacts().name,
        objects: this.#cluster.objects,
        isAlive: () => this.#isAlive,
      })
    );
  }

  #buildCluster(): AgentCluster {
    return new AgentCluster({
      client: this.client,
      clock: this.#clock,
      random: this.#clusterRandom,
      logger: this.#logger(),
      strategy: drawnStrategy(this.#options.random('strategy')),
      syncFrequencyMs: SYNC_FREQUENCY_MS,
      nodeFacts: this.#options.nodeFacts,
      conditions: () => this.agent.nodeFacts().conditions,
      devices: () => this.#managers.devices,
      volumesInUse: () => this.agent.csi?.volumesInUse(),
    });
  }

  #buildInspection(): ActorInspection {
    const { disk, sources, onFinished } = this.#options;
    const { lifecycle, admission } = this;
    const ends = new PodEndJudge({
      lifecycle,
      admission,
      wantedPod: (name) => sources.get(name),
      wasAskedToEnd: (uid) =>
        this.killed.has(uid) ||
        this.#options.hadReasonToEnd(uid) ||
        sources.hasAskedForEnd(uid) ||
        sources.wasDeletedByHand(uid),
      statusOf: (uid) => this.agent.statusManager.get(uid),
      isKnown: (uid) => sources.pods.some(({ metadata }) => metadata.uid === uid),
      isMounted: (uid) => disk.get(uid)?.mounted === true,
      violated: (invariant, uid, what) => this.#violated(invariant, uid, what),
    });
    const tell: AgentRunOptions['tell'] = (uid, name, what) => this.#tell(uid, name, what);
    return new ActorInspection({ lifecycle, admission, ends, tell, onFinished });
  }

  #parts(): NodeParts {
    const { disk, random, faults, remains, placement } = this.#options;
    const runtime = this.connection;
    const reclaimer = this.#reclaimer;
    const node = simulatedNode({
      runtime,
      disk,
      random,
      faults,
      clock: this.#clock,
      objects: this.#cluster.objects,
      onMount: (uid) => this.#isAlive && this.lifecycle.volumesMounted(uid),
      onRelease: (uid) => this.#isAlive && this.lifecycle.volumesReleased(uid),
      onRemove: (uid) => this.#isAlive && remains.removes(uid),
      managers: this.#managers.subsystems,
      cpus: this.#managers.cpus,
      hasOwnMemory: placement?.plan.memory !== undefined,
      drivers: this.#drivers?.subsystems ?? [],
      onContainer: (...made) => this.#configured(...made),
      isAlive: () => this.#isAlive,
    });
    return {
      runtime,
      node,
      reclaimer,
      ...(this.#managers.devices && { devices: this.#managers.devices }),
      ...this.#drivers?.parts,
      start: (view) => {
        reclaimer?.start(view);
        this.#managers.start(view);
        this.#drivers?.start(view);
      },
      stop: () => Promise.resolve(),
    };
  }

  #configured(pod: Pod, config: ContainerConfig): void {
    if (!this.#isAlive) return;
    this.#options.devices?.judge.configured(pod, config);
    this.#options.drivers?.dra?.judge.configured(pod, config);
  }

  #evictionParts(): EvictionParts | undefined {
    const stats = this.#stats;
    const { eviction } = this.#options;
    if (eviction === undefined || stats === undefined) return undefined;
    return { configuration: evictionConfiguration(eviction.rules), stats: () => Promise.resolve(stats) };
  }

  #plugins(): Pick<NodeAgentOptions, 'plugins'> {
    const { plugins } = this.#options;
    const witness = this.admission.plugins;
    const taintsApi = this.#taintsClient;
    if (plugins === undefined || witness === undefined || taintsApi === undefined) return {};
    const own = { api: this.client, taintsApi, node: () => this.#cluster.node() };
    const timing = { clock: this.#clock, random: this.#pluginRandom };
    return { plugins: (core) => agentPlugins(core, { ...plugins, ...own, ...timing, witness }) };
  }

  #pluginTruth(): PluginTruth | undefined {
    const { plugins } = this.#options;
    if (plugins === undefined) return undefined;
    const { plan, world, onChosen, onCondition, hadNoExecute } = plugins;
    const conditions = () => this.agent.plugins?.conditions().map(({ name }) => name) ?? [];
    return { plan, nodeName: world.nodeName, conditions, onChosen, onCondition, hadNoExecute };
  }

  #buildStats(): SimulatedStats | undefined {
    const { eviction, random, faults, nameOf, ordinal } = this.#options;
    if (eviction === undefined) return undefined;
    return new SimulatedStats({
      resources: eviction.resources,
      clock: this.#clock,
      faults,
      nameOf,
      random: (key) => random(`life/${String(ordinal)}/${key}`),
      onMeasure: () => this.admission.evictions?.measures() ?? (() => undefined),
    });
  }

  #evictionTruth(): EvictionTruth | undefined {
    const { eviction, runtime } = this.#options;
    if (eviction === undefined) return undefined;
    const { rules, resources } = eviction;
    return { rules, runtime, storageOf: (uid) => resources.storage?.ofPod(uid) };
  }

  /** It has a connection of its own: that tells its calls from those of the pods' effects. */
  #buildReclaimer(): SimulatedReclaimer | undefined {
    const { eviction, runtime } = this.#options;
    if (eviction?.resources.storage === undefined) return undefined;
    const unheard = { event: () => undefined, nodeEvent: () => undefined };
    const onReclaim = (what: NodeReclaim) => this.admission.evictions?.reclaims(what) ?? (() => undefined);
    return new SimulatedReclaimer({ ...this.#context(), recorder: unheard }, runtime.connect(), onReclaim);
  }

  #configuration(): Observable<SupervisorEvent> {
    const { clock, sources, node } = this.#options;
    const onProblem = (problem: SourceProblem) => {
      // That the API server does not answer is foreseen.
      if (problem.source === 'api' && problem.file === undefined) return;
      const what = `a source has a problem: ${problemText(problem)}`;
      this.#options.onViolation({ invariant: 'defect', node, what });
    };
    const api = this.#options.hearsAtOnce === true ? sources.atOnce : this.#cluster.pods;
    const lists = { file: sources.file, local: sources.local, api };
    return podConfig(lists, { now: () => clock.now(), onProblem }).pipe(
      map(channelEvent),
      takeUntil(this.#crashed),
    );
  }

  #judged(effects: PodEffects): PodEffects {
    const judged = (name: EffectName) => async (context: PodContext, signal: AbortSignal) => {
      if (this.#isAlive && name === 'syncPod' && this.#options.sources.mustStayDeleted(context.uid))
        this.#violated('13', context.uid, 'was deleted by hand, and is started');
      if (this.#isAlive && name === 'syncPod' && this.#options.sources.mustStayEnded(context.uid))
        this.#violated('14', context.uid, 'has come to its end, and is started');
      const ended = this.#isAlive ? this.lifecycle.effectBegins(name, context, signal) : undefined;
      try {
        return await effects[name](context, signal);
      } finally {
        ended?.();
      }
    };
    return {
      syncPod: judged('syncPod'),
      stopPod: judged('stopPod'),
      cleanUpPod: judged('cleanUpPod'),
      refreshStatus: (context) => effects.refreshStatus(context),
    };
  }

  #logger(): Logger {
    const { node, onViolation } = this.#options;
    return judgedLogger((violation) => this.#isAlive && onViolation({ node, ...violation }));
  }

  #violated(invariant: string, uid: string, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what });
  }

  #tell(uid: string, name: string, what: string): void {
    if (this.#isAlive) this.#options.tell(uid, name, what);
  }
}
