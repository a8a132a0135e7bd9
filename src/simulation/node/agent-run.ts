/** One agent on a simulated node, from its start until it is stopped or killed. */
import { map, type Observable, Subject, takeUntil } from 'rxjs';
import type { ActorContext } from '../../agent/actors/actor-context.ts';
import { EventFanOut } from '../../agent/actors/cluster/event-fan-out.ts';
import type { EvictionParts } from '../../agent/actors/eviction/eviction-figures.ts';
import { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { NodeAgentOptions } from '../../agent/actors/node/node-agent-options.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import type { SupervisorEvent } from '../../agent/machines/supervisor-machine.ts';
import type { EndedPod } from '../../agent/policies/termination/ended-pod.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import type { SimulatedConnection } from '../runtime/simulated-connection.ts';
import type { CallUnderWay } from '../runtime/witness.ts';
import { channelEvent, podConfig } from '../../agent/sources/pod-config.ts';
import { problemText, type SourceProblem } from '../../agent/sources/source.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { TransitionListener } from '../../types/transition.ts';
import type { SimulatedApiClient } from '../api/simulated-api-client.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import { nodeFaults, statsFaults } from '../plan/fault-kinds.ts';
import type { Kill } from '../plan/plan.ts';
import { seededRandom, type SeededRandom } from '../plan/seeded-random.ts';
import { agentPlugins } from '../plugins/agent-plugins.ts';
import { evictionConfiguration } from '../resources/eviction-rules.ts';
import { SimulatedStats } from '../resources/simulated-stats.ts';
import { AgentJudges, type AgentJudgesParts } from './agent-judges.ts';
import { AgentDrivers } from './agent-drivers.ts';
import { AgentCluster, drawnStrategy } from './agent-cluster.ts';
import { AgentClock } from './agent-clock.ts';
import type { HostContext } from './host-context.ts';
import { simulatedNode } from './simulated-node.ts';
import { SimulatedReclaimer } from './simulated-reclaimer.ts';
import { type NodeManagers, nodeManagers } from './node-managers.ts';
import { NODE_ADDRESS } from './simulated-status-facts.ts';
import type { NodeReclaim } from '../../agent/policies/eviction/file-system-parts.ts';

/** How long a stopped agent waits for its effects under way, as the daemon does. */
const STOP_LIMIT_MS = 2_000;
const SYNC_FREQUENCY_MS = 60_000;
const MAX_CONTAINER_RESTART_PERIOD_MS = 300_000;

export interface AgentRunParts extends AgentJudgesParts {
  /** 1 for the first agent of the node, 2 for the next one, and so on. */
  readonly ordinal: number;
  readonly api: SimulatedApiServer;
  /** The agent gets changes of its pods at the API server at once: for tests that fix the order of events. */
  readonly hearsAtOnce?: boolean | undefined;
  /** The pods that must not start again, as the disk has them. */
  readonly endedPods: {
    readonly stored: readonly EndedPod[];
    readonly write: (pods: readonly EndedPod[]) => void;
  };
  readonly nodeFacts: () => NodeFacts;
  /** Gets the transitions of the agent with that ordinal. */
  readonly listen?: ((ordinal: number) => TransitionListener) | undefined;
}

export class AgentRun {
  readonly agent: NodeAgent;
  readonly judges: AgentJudges;
  readonly connection: SimulatedConnection;
  /** Over it, containers get the CPUs that they share: these calls are not effects of pods. */
  readonly #cpusets: SimulatedConnection;
  /** Kills that have not been answered. A killed agent does not answer them. */
  unansweredKills = 0;
  readonly #host: HostContext;
  readonly #parts: AgentRunParts;
  readonly #clock: AgentClock;
  /** Its connection to the API server. */
  readonly client: SimulatedApiClient;
  /** Its user may change taints, which a node may not. */
  readonly #taintsClient: SimulatedApiClient | undefined;
  readonly #chance: SeededRandom;
  /** A random source of its own, so that the number of requests changes nothing else that is drawn. */
  readonly #clusterRandom: () => number;
  readonly #pluginRandom: () => number;
  readonly #cluster: AgentCluster;
  readonly #stats: SimulatedStats | undefined;
  readonly #reclaimer: SimulatedReclaimer | undefined;
  readonly #managers: NodeManagers;
  readonly #drivers: AgentDrivers | undefined;
  readonly #crashed = new Subject<undefined>();

  constructor(host: HostContext, parts: AgentRunParts) {
    this.#host = host;
    this.#parts = parts;
    const { clock, random } = host;
    const { ordinal, runtime, api } = parts;
    this.#clock = new AgentClock(clock);
    const chanceOf = (what: string) => seededRandom(random(`life/${String(ordinal)}${what}`) * 2 ** 32);
    this.#chance = chanceOf('');
    const ofCluster = chanceOf('/cluster');
    this.#clusterRandom = () => ofCluster.next();
    const ofPlugins = chanceOf('/plugins');
    this.#pluginRandom = () => ofPlugins.next();
    this.#taintsClient = parts.plugins && api.connectUser();
    this.client = api.connect();
    this.connection = runtime.connect();
    this.judges = new AgentJudges(host, parts, this.connection.id, () => this.agent);
    this.#cluster = this.#buildCluster();
    this.#stats = this.#buildStats();
    this.#reclaimer = this.#buildReclaimer();
    this.#cpusets = runtime.connect();
    this.#managers = this.#buildManagers();
    this.#drivers = this.#buildDrivers();
    this.agent = this.#buildAgent();
    this.#drivers?.find();
    this.#listen(parts.listen?.(ordinal));
    this.judges.watchStatuses();
    this.agent.start();
  }

  /** Kills the pod, as eviction and preemption do. Returns false if the agent has no such pod. */
  kill(uid: string, { graceSeconds, reason }: Kill): boolean {
    const { actor } = this.agent.supervisor.registry.get(uid) ?? {};
    if (actor === undefined) return false;
    this.judges.killed.add(uid);
    this.unansweredKills += 1;
    const options = {
      podTerminationGracePeriodSecondsOverride: graceSeconds,
      ...(reason !== undefined && { podStatus: { phase: 'Failed', reason } as const }),
      ...(reason === 'Evicted' && { evict: true }),
    };
    void this.agent.supervisor.killPod(uid, options).then(() => {
      this.unansweredKills -= 1;
      if (!this.judges.isAlive || actor.getSnapshot().matches('Terminated')) return;
      this.judges.violated('I7', uid, `a kill is answered in ${stateName(actor.getSnapshot().value)}`);
    });
    return true;
  }

  /** Deletes a pod of a manifest, as a person on the node does. */
  async delete(uid: string, graceSeconds?: number): Promise<void> {
    const { sources } = this.#parts;
    const { ended, desired } = this.agent.supervisor;
    const pod = desired.get(uid);
    if (pod === undefined) return;
    const stays = sources.deleteByHand(pod);
    await ended.delete(uid, graceSeconds);
    if (this.judges.isAlive) stays();
  }

  /** SIGKILL: from now on the agent does nothing. Calls that the runtime has received already may still be carried out. */
  crash(): void {
    this.judges.end();
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
    if (this.judges.isAlive) this.crash();
  }

  /** A call to the runtime has begun. */
  callBegan(call: CallUnderWay): void {
    const { lifecycle, admission } = this.judges;
    lifecycle.callBegan(call);
    if (call.connection === this.#reclaimer?.connection.id) admission.evictions?.removes(call);
  }

  /** An abandoned call about the pod has been carried out. */
  landedLate(uid: string): void {
    this.judges.lifecycle.landedLate(uid);
    this.judges.admission.landedLate(uid);
  }

  #listen(listener: TransitionListener | undefined): void {
    if (listener === undefined) return;
    this.agent.transitions.subscribe((...transition) => {
      if (this.judges.isAlive) listener(...transition);
    });
  }

  #buildAgent(): NodeAgent {
    const { nodeFacts, endedPods } = this.#parts;
    const eviction = this.#evictionParts();
    return new NodeAgent(this.#context(), {
      parts: this.#nodeParts(),
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
          if (this.judges.isAlive) endedPods.write(pods);
          return Promise.resolve();
        },
      },
      objectChanges: this.#cluster.objects.changes,
      cluster: (core) => this.#cluster.join({ ...core, random: this.#clusterRandom }),
      ...this.#plugins(),
      ...(this.#managers.devicePlugins && { devicePlugins: this.#managers.devicePlugins }),
      ...this.#drivers?.options,
      wrapEffects: (effects) => this.judges.judged(effects),
    });
  }

  #context(): ActorContext {
    const history: ActorContext['recorder'] = {
      event: ({ uid, name }, type, reason) => this.judges.tell(uid, name, `event ${type} ${reason}`),
      nodeEvent: () => undefined,
    };
    return {
      clock: this.#clock,
      random: () => this.#chance.next(),
      logger: this.judges.logger,
      recorder: new EventFanOut(history, this.#cluster.sender),
      inspect: this.judges.inspect,
    };
  }

  #buildManagers(): NodeManagers {
    const { devices, placement } = this.#parts.equipment;
    devices?.folder.agentStarts();
    devices?.judge.agentStarts();
    return nodeManagers(this.#context(), {
      ...(devices && { devices: { folder: devices.folder, witness: devices.judge } }),
      ...(placement && {
        placement: {
          ...placement.plan,
          cpus: {
            topology: placement.plan.cpus,
            options: placement.plan.options,
            reserved: placement.plan.reserved,
          },
          files: placement.files,
          runtime: this.#cpusets.resizing,
        },
      }),
    });
  }

  #buildDrivers(): AgentDrivers | undefined {
    const { nodeFacts, equipment } = this.#parts;
    const host = equipment.drivers;
    return (
      host &&
      new AgentDrivers(this.#context(), {
        host,
        cluster: this.#cluster,
        nodeName: nodeFacts().name,
        objects: this.#cluster.objects,
        isAlive: () => this.judges.isAlive,
      })
    );
  }

  #buildCluster(): AgentCluster {
    return new AgentCluster({
      client: this.client,
      clock: this.#clock,
      random: this.#clusterRandom,
      logger: this.judges.logger,
      strategy: drawnStrategy(this.#host.random('strategy')),
      syncFrequencyMs: SYNC_FREQUENCY_MS,
      nodeFacts: this.#parts.nodeFacts,
      conditions: () => this.agent.nodeFacts().conditions,
      devices: () => this.#managers.devices,
      volumesInUse: () => this.agent.csi?.volumesInUse(),
    });
  }

  #nodeParts(): NodeParts {
    const { disk, random, faults } = this.#host;
    const { equipment } = this.#parts;
    const runtime = this.connection;
    const reclaimer = this.#reclaimer;
    const node = simulatedNode({
      runtime,
      disk,
      random,
      faults: () => nodeFaults(faults()),
      clock: this.#clock,
      objects: this.#cluster.objects,
      onMount: (uid) => this.judges.mounted(uid),
      onRelease: (uid) => this.judges.released(uid),
      onRemove: (uid) => this.judges.removed(uid),
      managers: this.#managers.subsystems,
      cpus: this.#managers.cpus,
      hasOwnMemory: equipment.placement?.plan.memory !== undefined,
      drivers: this.#drivers?.subsystems ?? [],
      onContainer: (...made) => this.judges.configured(...made),
      isAlive: () => this.judges.isAlive,
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

  #evictionParts(): EvictionParts | undefined {
    const stats = this.#stats;
    const { eviction } = this.#parts;
    if (eviction === undefined || stats === undefined) return undefined;
    return { configuration: evictionConfiguration(eviction.rules), stats: () => Promise.resolve(stats) };
  }

  #plugins(): Pick<NodeAgentOptions, 'plugins'> {
    const { plugins } = this.#parts;
    const witness = this.judges.admission.plugins;
    const taintsApi = this.#taintsClient;
    if (plugins === undefined || witness === undefined || taintsApi === undefined) return {};
    const own = { api: this.client, taintsApi, node: () => this.#cluster.ownNode() };
    const timing = { clock: this.#clock, random: this.#pluginRandom };
    return { plugins: (core) => agentPlugins(core, { ...plugins, ...own, ...timing, witness }) };
  }

  #buildStats(): SimulatedStats | undefined {
    const { random, faults, pods } = this.#host;
    const { eviction, ordinal } = this.#parts;
    if (eviction === undefined) return undefined;
    return new SimulatedStats({
      resources: eviction.resources,
      clock: this.#clock,
      faults: () => statsFaults(faults()),
      nameOf: (uid) => pods.nameOf(uid),
      random: (key) => random(`life/${String(ordinal)}/${key}`),
      onMeasure: () => this.judges.admission.evictions?.measures() ?? (() => undefined),
    });
  }

  /** It has a connection of its own, so that its calls differ from those of the pods' effects. */
  #buildReclaimer(): SimulatedReclaimer | undefined {
    const { eviction, runtime } = this.#parts;
    if (eviction?.resources.storage === undefined) return undefined;
    const unheard = { event: () => undefined, nodeEvent: () => undefined };
    const onReclaim = (what: NodeReclaim) =>
      this.judges.admission.evictions?.reclaims(what) ?? (() => undefined);
    return new SimulatedReclaimer({ ...this.#context(), recorder: unheard }, runtime.connect(), {
      onReclaim,
    });
  }

  #configuration(): Observable<SupervisorEvent> {
    const { clock, violated } = this.#host;
    const { sources } = this.#parts;
    const onProblem = (problem: SourceProblem) => {
      // An API server that does not answer is expected.
      if (problem.source === 'api' && problem.file === undefined) return;
      const what = `a source has a problem: ${problemText(problem)}`;
      violated({ invariant: 'defect', what });
    };
    const api = this.#parts.hearsAtOnce === true ? sources.atOnce : this.#cluster.pods;
    const lists = { file: sources.file, local: sources.local, api };
    return podConfig(lists, { now: () => clock.now(), onProblem }).pipe(
      map(channelEvent),
      takeUntil(this.#crashed),
    );
  }
}
