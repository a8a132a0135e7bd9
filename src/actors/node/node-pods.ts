/** What runs the pods of a node: their statuses, their probes, their effects, and the supervisor of their actors. */
import { containerID } from '../../policies/status/container-state.ts';
import { crashLoopBackOff } from '../../policies/sync/crash-loop-backoff.ts';
import { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import { StartGate } from '../../runtime/pods/start-gate.ts';
import { podFields } from '../../types/logger.ts';
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
  readonly #options: NodePodsOptions;
  readonly #containerEnds: ContainerEnds;

  constructor(options: NodePodsOptions) {
    this.#options = options;
    const { measurements, logger } = options.agent;
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
    const { clock, logger } = this.#options.agent;
    return new StatusManager({
      now: () => clock.now(),
      mirrorPodOf: (pod) => this.supervisor.desired.ownMirrorPodOf(pod),
      servedStatusOf: (pod) => this.supervisor.desired.ownMirrorPodOf(pod)?.status,
      onRefused: (pod, problem) => logger.warn({ ...podFields(pod.metadata), problem }, 'Status is dropped'),
    });
  }

  #buildProbes(): ProbeManager {
    const { parts, clock, random, recorder, logger, measurements } = this.#options.agent;
    const { pleg } = this.#options.runtime;
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
    const { parts, sources, clock, random, recorder, logger, inspect, wrapGates, endedPods } = agent;
    const { syncFrequencyMs, preemptionLowerPriorityFirst, measurements } = agent;
    const { probes, statusManager } = this;
    const podRuntime = this.#buildPodRuntime();
    return new Supervisor({
      ...(measurements && {
        podObserver: podObserver(measurements),
        turnover: measurements.turnover,
      }),
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
      ...(agent.cluster && { freshNodeFacts: () => node.freshFacts() }),
      effects: this.#effects(podRuntime),
      ...(wrapGates && { wrapGates }),
      ...(endedPods && { endedPods }),
      ...(inspect && { inspect }),
      onStopped,
      onMirrorPod: () => cluster()?.mirrorPodSeen(),
    });
  }

  #effects(podRuntime: PodRuntime): PodEffects {
    const { agent, runtime, node, cluster } = this.#options;
    const { parts, clock, recorder, logger, wrapEffects, measurements } = agent;
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
    const { parts, clock, recorder, logger, startsAtOnce, measurements } = agent;
    const { runtime, node } = parts;
    return new PodRuntime({
      runtime,
      node,
      recorder,
      ...(measurements && { turnover: measurements.turnover }),
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
