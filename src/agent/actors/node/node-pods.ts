/** What runs the pods of a node: their statuses, their probes, their effects, and the supervisor of their actors. */
import { Subject } from 'rxjs';
import { containerID } from '../../policies/status/container-state.ts';
import { crashLoopBackOff } from '../../policies/pod-actions/back-off.ts';
import { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import { StartGate } from '../../runtime/pods/start-gate.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { SupervisorLoop } from '../loop/supervisor-loop.ts';
import { measuredEffects, measurePods, podObserver } from '../measured-pods.ts';
import { ContainerExitLog } from '../pods/container-exit-log.ts';
import { DesiredPods } from '../pods/desired-pods.ts';
import { EndedPods, NO_STORE } from '../pods/ended-pods.ts';
import type { PodEffects } from '../pods/pod-actor.ts';
import { podEffects } from '../pods/pod-effects.ts';
import { PodRegistry } from '../pods/pod-registry.ts';
import { StatusManager } from '../pods/status-manager.ts';
import { ProbeManager } from '../probes/probe-manager.ts';
import type { ProbeNews } from '../probes/probe-worker.ts';
import { ResizeStates } from '../resize/resize-states.ts';
import { Supervisor } from '../supervisor.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import type { NodeState } from './node-state.ts';
import type { RuntimeWatch } from './runtime-watch.ts';

export interface NodePodsParts {
  readonly agent: NodeAgentOptions;
  readonly runtime: RuntimeWatch;
  readonly node: NodeState;
  /** The supervisor's loop has stopped. */
  readonly onStopped: () => void;
}

export class NodePods {
  readonly statusManager: StatusManager;
  readonly probes: ProbeManager;
  readonly supervisor: Supervisor;
  readonly staticPodSyncs = new Subject<Pod>();
  readonly #context: ActorContext;
  readonly #parts: NodePodsParts;
  readonly #desired = new DesiredPods();
  readonly #ended: EndedPods;
  readonly #containerExitLog: ContainerExitLog;
  readonly #resizeStates: ResizeStates;
  readonly #podRuntime: PodRuntime;

  constructor(context: ActorContext, parts: NodePodsParts) {
    this.#parts = parts;
    const { agent, runtime, node, onStopped } = parts;
    const loop = new SupervisorLoop(context, agent.sources);
    this.#context = loop.context;
    const { measurements, logger } = context;
    this.#containerExitLog = new ContainerExitLog(logger);
    const desired = this.#desired;
    const statusManager = new StatusManager(context, desired);
    const { devices, csi, dra } = agent.parts;
    const registry = new PodRegistry(loop.context, {
      synced: () => loop.synced,
      waits: [devices?.waits, csi, dra].filter((waits) => waits !== undefined),
      holdsClaims: (uid) => dra?.holds(uid) === true,
      observers: measurements ? [podObserver(measurements)] : [],
    });
    this.#resizeStates = new ResizeStates(loop.context);
    const ended = new EndedPods(context, { store: agent.endedPods ?? NO_STORE, registry, desired });
    const { pleg } = runtime;
    const probes = new ProbeManager(loop.context, { ...agent.parts, pleg, statusManager });
    this.statusManager = statusManager;
    this.#ended = ended;
    this.probes = probes;
    const podRuntime = this.#buildPodRuntime();
    this.#podRuntime = podRuntime;
    this.supervisor = new Supervisor({
      ...agent,
      loop,
      registry,
      desired,
      ended,
      statusManager,
      probes,
      pleg,
      podRuntime,
      onStopped,
      node: agent.parts.node,
      effects: this.#effects(),
      states: this.#resizeStates,
      nodeFacts: () => node.facts(),
      freshNodeFacts: agent.cluster && (() => node.freshFacts()),
    });
    const { ends } = this.supervisor;
    ends.subscribe(({ uid }, end) => {
      if (end === 'Forgotten') this.#containerExitLog.forget(uid);
    });
    probes.news.subscribe((news) => {
      this.#showProbeResult(news);
      loop.send(news);
    });
    if (measurements) measurePods(measurements, { statusManager, ends });
  }

  /** The pod's next status is computed only after the effect in flight. */
  #showProbeResult({ uid, probe, result, containerId }: ProbeNews): void {
    const pod = this.#desired.get(uid);
    if (pod === undefined) return;
    const id = containerID(this.#parts.runtime.name, containerId);
    const isSuccess = result === 'Success';
    if (probe === 'readiness') this.statusManager.setContainerReadiness(pod, id, isSuccess);
    if (probe === 'startup') this.statusManager.setContainerStartup(pod, id, isSuccess);
    this.probes.rememberResults(pod, this.statusManager.get(uid));
  }

  #effects(): PodEffects {
    const { agent, runtime, node } = this.#parts;
    const { measurements } = this.#context;
    const own = podEffects(this.#context, {
      node: agent.parts.node,
      pleg: runtime.pleg,
      runtime,
      probes: this.probes,
      statusManager: this.statusManager,
      ended: this.#ended,
      devices: agent.parts.devices,
      dra: agent.parts.dra,
      podRuntime: this.#podRuntime,
      resizes: this.#resizeStates,
      containerExitLog: this.#containerExitLog,
      hostIPs: () => node.hostIPs(),
      staticPodSyncs: this.staticPodSyncs,
    });
    const effects = agent.wrapEffects?.(own) ?? own;
    return measurements ? measuredEffects(effects, measurements.pods) : effects;
  }

  #buildPodRuntime(): PodRuntime {
    const { agent } = this.#parts;
    const { runtime, node } = agent.parts;
    return new PodRuntime(this.#context, {
      runtime,
      node,
      backOff: crashLoopBackOff(agent.maxContainerRestartPeriodMs, agent.initialContainerRestartPeriodMs),
      gate: new StartGate(this.#context, agent.startsAtOnce),
      deadInstancesKept: agent.maximumDeadContainersPerContainer,
      instanceCounts: agent.instanceCounts,
      onContainerEnd: (pod, instance) => this.#containerExitLog.tell(pod, instance),
      onSandboxReady: (pod) => this.statusManager.sandboxReady(pod),
    });
  }
}
