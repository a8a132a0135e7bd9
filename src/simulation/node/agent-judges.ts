/** The judges of one agent, and what they see: its actors, its effects, its statuses and its calls. They see nothing once it is dead. */
import type { InspectionEvent } from 'xstate';
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { PodEffects } from '../../agent/actors/pods/pod-actor.ts';
import type { PodContext } from '../../agent/machines/pod-machine.ts';
import type { ContainerConfig } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import { AdmissionJudge } from '../judges/admission-judge.ts';
import type { EffectName } from '../judges/effect-judge.ts';
import type { EvictionTruth } from '../judges/eviction/eviction-choice.ts';
import type { HookJudge } from '../judges/hook-judge.ts';
import { LifecycleJudge } from '../judges/lifecycle-judge.ts';
import type { PluginTruth } from '../judges/plugins/plugin-judge.ts';
import { PodEndJudge } from '../judges/pod-end-judge.ts';
import type { RemainsJudge } from '../judges/remains-judge.ts';
import type { HostPlugins } from '../plugins/agent-plugins.ts';
import type { EvictionRules } from '../resources/eviction-rules.ts';
import type { SimulatedResources } from '../resources/simulated-resources.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import { ActorInspection } from './actor-inspection.ts';
import { judgedLogger } from './agent-clock.ts';
import type { HostContext } from './host-context.ts';
import type { NodeEquipment } from './node-equipment.ts';
import type { SimulatedSources } from './simulated-sources.ts';

export interface AgentJudgesParts {
  readonly runtime: SimulatedRuntime;
  readonly sources: SimulatedSources;
  /** Undefined for an agent that does not evict. */
  readonly eviction?: { readonly resources: SimulatedResources; readonly rules: EvictionRules } | undefined;
  /** Undefined for a node without plugins. */
  readonly plugins?: HostPlugins | undefined;
  readonly equipment: NodeEquipment;
  /** A pod's actor has reached its last state. */
  readonly onFinished: (uid: string) => void;
  readonly remains: Pick<RemainsJudge, 'removes'>;
  readonly hooks: Pick<HookJudge, 'shows' | 'agentEnds'>;
  /** Whether the pod is an ordinary one of a manifest, and an earlier agent was told to end it, or had a reason to. */
  readonly hadReasonToEnd: (uid: string) => boolean;
}

export class AgentJudges {
  readonly lifecycle: LifecycleJudge;
  readonly admission: AdmissionJudge;
  /** UIDs of the pods that were killed. This agent does not start them again. */
  readonly killed = new Set<string>();
  /** Unix ms. */
  readonly startedAt: number;
  readonly logger: Logger;
  readonly #host: HostContext;
  readonly #parts: AgentJudgesParts;
  readonly #agent: () => NodeAgent;
  readonly #inspection: ActorInspection;
  #isAlive = true;

  /** `connection`: the id of the connection that effects of pods use. `agent`: a function, since the agent is made after its judges. */
  constructor(host: HostContext, parts: AgentJudgesParts, connection: number, agent: () => NodeAgent) {
    const { node, clock, violated: onViolation } = host;
    const { runtime, equipment } = parts;
    this.#host = host;
    this.#parts = parts;
    this.#agent = agent;
    this.startedAt = clock.now();
    this.logger = judgedLogger((violation) => this.#isAlive && onViolation(violation));
    this.lifecycle = new LifecycleJudge({ node, truth: runtime, onViolation }, connection);
    this.admission = new AdmissionJudge({
      node,
      nodeFacts: () => agent().nodeFacts(),
      now: () => clock.now(),
      isRunning: (uid) => runtime.isRunning(uid),
      desired: (uid) => agent().supervisor.desired.get(uid),
      found: runtime.uids().filter((uid) => runtime.isRunning(uid)),
      eviction: this.#evictionTruth(),
      plugins: this.#pluginTruth(),
      devices: equipment.devices?.judge,
      placement: equipment.placement?.judge,
      onViolation,
    });
    this.#inspection = this.#buildInspection();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** The agent is dead. */
  end(): void {
    this.#parts.hooks.agentEnds(this.startedAt);
    this.#isAlive = false;
  }

  readonly inspect = (event: InspectionEvent): void => {
    if (this.#isAlive) this.#inspection.inspect(event);
  };

  /** Statuses are judged from now on. */
  watchStatuses(): void {
    const { statusManager } = this.#agent();
    statusManager.news.subscribe(({ uid }) => {
      if (this.#isAlive) this.#parts.hooks.shows(uid, statusManager.get(uid) ?? {}, this.startedAt);
    });
  }

  hasReasonToEnd(uid: string): boolean {
    return this.killed.has(uid) || this.admission.hasReasonToEnd(uid);
  }

  mounted(uid: string): void {
    if (this.#isAlive) this.lifecycle.volumesMounted(uid);
  }

  released(uid: string): void {
    if (this.#isAlive) this.lifecycle.volumesReleased(uid);
  }

  removed(uid: string): void {
    if (this.#isAlive) this.#parts.remains.removes(uid);
  }

  configured(pod: Pod, config: ContainerConfig): void {
    if (this.#isAlive) this.#parts.equipment.configured(pod, config);
  }

  tell(uid: string, name: string, what: string): void {
    if (this.#isAlive) this.#host.tell(what, { name, uid });
  }

  violated(invariant: string, uid: string, what: string): void {
    this.#host.violated({ invariant, uid, what });
  }

  /** The effects, of which each call and its end is judged. */
  judged(effects: PodEffects): PodEffects {
    const judged = (name: EffectName) => async (context: PodContext, signal: AbortSignal) => {
      const ended = this.#isAlive ? this.#begins(name, context, signal) : undefined;
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

  #begins(name: EffectName, context: PodContext, signal: AbortSignal): () => void {
    const { sources } = this.#parts;
    const { uid } = context;
    if (name === 'syncPod' && sources.mustStayDeleted(uid))
      this.violated('13', uid, 'was deleted by hand, and is started');
    if (name === 'syncPod' && sources.mustStayEnded(uid))
      this.violated('14', uid, 'has come to its end, and is started');
    return this.lifecycle.effectBegins(name, context, signal);
  }

  #buildInspection(): ActorInspection {
    const { disk } = this.#host;
    const { sources, onFinished } = this.#parts;
    const { lifecycle, admission } = this;
    const ends = new PodEndJudge({
      lifecycle,
      admission,
      wantedPod: (name) => sources.get(name),
      wasAskedToEnd: (uid) =>
        this.killed.has(uid) ||
        this.#parts.hadReasonToEnd(uid) ||
        sources.hasAskedForEnd(uid) ||
        sources.wasDeletedByHand(uid),
      statusOf: (uid) => this.#agent().statusManager.get(uid),
      isKnown: (uid) => sources.pods.some(({ metadata }) => metadata.uid === uid),
      isMounted: (uid) => disk.get(uid)?.mounted === true,
      violated: (invariant, uid, what) => this.violated(invariant, uid, what),
    });
    const tell = (uid: string, name: string, what: string) => this.tell(uid, name, what);
    return new ActorInspection({ lifecycle, admission, ends, tell, onFinished });
  }

  #pluginTruth(): PluginTruth | undefined {
    const { plugins } = this.#parts;
    if (plugins === undefined) return undefined;
    const { plan, world, onChosen, onCondition, hadNoExecute } = plugins;
    const conditions = () =>
      this.#agent()
        .plugins?.conditions()
        .map(({ name }) => name) ?? [];
    return { plan, nodeName: world.nodeName, conditions, onChosen, onCondition, hadNoExecute };
  }

  #evictionTruth(): EvictionTruth | undefined {
    const { eviction, runtime } = this.#parts;
    if (eviction === undefined) return undefined;
    const { rules, resources } = eviction;
    // The figures of a node leave out pods of which nothing runs, as the kubelet's do.
    const storageOf = (uid: string) => (runtime.isRunning(uid) ? resources.storage?.ofPod(uid) : undefined);
    return { rules, runtime, storageOf };
  }
}
