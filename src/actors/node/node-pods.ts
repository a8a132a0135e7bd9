/** What runs the pods of a node: their statuses, their probes, their effects, and the supervisor of their actors. */
import { containerID } from '../../policies/status/container-state.ts';
import { crashLoopBackOff } from '../../policies/pod-actions/back-off.ts';
import { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import { StartGate } from '../../runtime/pods/start-gate.ts';
import { podFields } from '../../types/logger.ts';
import type { ActorContext } from '../actor-context.ts';
import type { ClusterParts } from '../cluster/cluster-parts.ts';
import { measuredEffects, measurePods, podObserver } from '../measured-pods.ts';
import { ContainerEnds } from '../pods/container-ends.ts';
import { rememberProbes } from '../probes/remembered-probes.ts';
import type { PodEffects } from '../pods/pod-actor.ts';
import { podEffects } from '../pods/pod-effects.ts';
import { StatusManager } from '../pods/status-manager.ts';
import { ProbeManager } from '../probes/probe-manager.ts';
import type { ProbeNews } from '../probes/probe-worker.ts';
import { Supervisor } from '../supervisor.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import type { NodeState } from './node-state.ts';
import type { RuntimeWatch } from './runtime-watch.ts';

export interface NodePodsOptions {
  readonly agent: NodeAgentOptions;
  readonly runtime: RuntimeWatch;
  readonly node: NodeState;
  /** Made after the pods. */
  readonly cluster: () => ClusterParts | undefined;
  /** The supervisor's loop has stopped. */
  readonly onStopped: () => void;
}

export class NodePods {
  readonly statusManager: StatusManager;
  readonly probes: ProbeManager;
  readonly supervisor: Supervisor;
  readonly #context: ActorContext;
  readonly #options: NodePodsOptions;
  readonly #containerEnds: ContainerEnds;

  constructor(context: ActorContext, options: NodePodsOptions) {
    this.#context = context;
    this.#options = options;
    const { measurements, logger } = context;
    this.#containerEnds = new ContainerEnds(logger);
    this.statusManager = this.#buildStatusManager();
    this.probes = this.#buildProbes();
    this.supervisor = this.#buildSupervisor();
    const { ends } = this.supervisor;
    ends.subscribe(({ uid }, end) => {
      if (end === 'Forgotten') this.#containerEnds.forget(uid);
    });
    if (measurements) measurePods(measurements, { statusManager: this.statusManager, ends });
  }

  #buildStatusManager(): StatusManager {
    const { clock, logger } = this.#context;
    return new StatusManager({
      now: () => clock.now(),
      mirrorPodOf: (pod) => this.supervisor.desired.ownMirrorPodOf(pod),
      servedStatusOf: (pod) => this.supervisor.desired.ownMirrorPodOf(pod)?.status,
      onRefused: (pod, problem) => logger.warn({ ...podFields(pod.metadata), problem }, 'Status is dropped'),
    });
  }

  #buildProbes(): ProbeManager {
    const { clock, random, recorder, logger, measurements } = this.#context;
    const { pleg } = this.#options.runtime;
    const { runtime, node } = this.#options.agent.parts;
    return new ProbeManager({
      measurements,
      runtime,
      clock,
      random,
      recorder,
      logger,
      podStatus: (uid) => this.statusManager.get(uid),
      podIP: (pod) => {
        const seen = pleg.lastSeen(pod.metadata.uid);
        return seen && node.podIP(pod, seen);
      },
      knownContainer: (uid, containerId) => node.knownContainer(uid, containerId),
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
    const id = containerID(this.#options.runtime.name, containerId);
    const isSuccess = result === 'Success';
    if (probe === 'readiness') this.statusManager.setContainerReadiness(pod, id, isSuccess);
    if (probe === 'startup') this.statusManager.setContainerStartup(pod, id, isSuccess);
    rememberProbes(this.#options.agent.parts.node, pod, this.statusManager.get(uid));
  }

  #buildSupervisor(): Supervisor {
    const { agent, runtime, node, cluster, onStopped } = this.#options;
    const { clock, random, recorder, logger, inspect, measurements } = this.#context;
    const { parts, sources, wrapGates, endedPods, syncFrequencyMs, preemptionLowerPriorityFirst } = agent;
    const { probes, statusManager } = this;
    const podRuntime = this.#buildPodRuntime();
    return new Supervisor({
      podObserver: measurements && podObserver(measurements),
      turnover: measurements?.turnover,
      node: parts.node,
      pleg: runtime.pleg,
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
      nodeFacts: () => node.facts(),
      freshNodeFacts: agent.cluster && (() => node.freshFacts()),
      effects: this.#effects(podRuntime),
      wrapGates,
      endedPods,
      inspect,
      onStopped,
      onMirrorPod: () => cluster()?.mirrorPodSeen(),
    });
  }

  #effects(podRuntime: PodRuntime): PodEffects {
    const { agent, runtime, node, cluster } = this.#options;
    const { clock, recorder, logger, measurements } = this.#context;
    const { parts, wrapEffects } = agent;
    const { probes, statusManager } = this;
    const { pleg, state } = runtime;
    const own = podEffects({
      node: parts.node,
      pleg,
      probes,
      statusManager,
      podRuntime,
      clock,
      recorder,
      logger,
      hostIPs: () => node.hostIPs(),
      onStaticPodSync: (pod) => cluster()?.staticPodSynced(pod),
      endKept: () => this.supervisor.ended.kept(),
      containerEnds: this.#containerEnds,
      runtimeName: () => runtime.name,
      runtimeProblem: () => state.runtimeProblem(),
      networkProblem: () => state.networkProblem(),
      onRuntimeDoubtful: () => runtime.check(),
    });
    const effects = wrapEffects?.(own) ?? own;
    return measurements ? measuredEffects(effects, measurements) : effects;
  }

  #buildPodRuntime(): PodRuntime {
    const { agent } = this.#options;
    const { clock, recorder, logger, measurements } = this.#context;
    const { parts, startsAtOnce } = agent;
    const { runtime, node } = parts;
    return new PodRuntime({
      runtime,
      node,
      recorder,
      turnover: measurements?.turnover,
      logger,
      clock,
      backOff: crashLoopBackOff(agent.maxContainerRestartPeriodMs, agent.initialContainerRestartPeriodMs),
      gate: new StartGate({ clock, atOnce: startsAtOnce }),
      deadInstancesKept: agent.maximumDeadContainersPerContainer,
      pastLives: agent.pastLives,
      onContainerEnd: (pod, instance) => this.#containerEnds.tell(pod, instance),
      onSandboxReady: (pod) => this.statusManager.sandboxReady(pod),
    });
  }
}
