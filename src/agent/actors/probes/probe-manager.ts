import { type ProbeKind, type ProbeResult, probeTargets } from '../../policies/probes/probe.ts';
import { probedContainers } from '../../policies/status/remembered-containers.ts';
import { Subject } from 'rxjs';
import type { AnyActorRef } from 'xstate';
import type { probeMachine } from '../../machines/probe-machine.ts';
import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { type ProbeNews, type ProbeParts, ProbeWorker, provideProbeMachine } from './probe-worker.ts';

/** The results of one pod's probes, by the runtime's container id. Without an entry there is no result yet. */
type PodProbeResults = Readonly<Record<ProbeKind, ReadonlyMap<string, ProbeResult>>>;

const NONE: PodProbeResults = { liveness: new Map(), readiness: new Map(), startup: new Map() };

export interface ProbeManagerParts extends ProbeParts {
  readonly node: ProbeParts['node'] & Pick<PodNode, 'rememberContainer'>;
}

/** The probes of all pods. */
export class ProbeManager {
  /** Unix ms. */
  readonly agentStartedAt: number;
  /** Emits when the result of a probe changes. */
  readonly news = new Subject<ProbeNews>();
  readonly #context: ActorContext;
  readonly #parts: ProbeManagerParts;
  readonly #pods = new Map<string, readonly ProbeWorker[]>();
  readonly #workers = new WeakMap<AnyActorRef, ProbeWorker>();
  #machine: typeof probeMachine | undefined;
  #stopped = false;

  constructor(context: ActorContext, parts: ProbeManagerParts) {
    this.#context = context;
    this.#parts = parts;
    this.agentStartedAt = context.clock.now();
  }

  /**
   * Called before the pod's containers are started. The probes of a known pod stay as they are. Returns whether there are new probes: the pod's
   * status may have first results for containers that run already.
   */
  addPod(pod: Pod): boolean {
    const { uid } = pod.metadata;
    if (this.#stopped || this.#pods.has(uid)) return false;
    const targets = probeTargets(pod);
    if (targets.length === 0) return false;
    this.#machine ??= provideProbeMachine((actor) => this.#workers.get(actor));
    const tell = (news: ProbeNews) => this.news.next(news);
    const parts = { ...this.#parts, machine: this.#machine, agentStartedAt: this.agentStartedAt, tell };
    const workers = targets.map((target) => new ProbeWorker(this.#context, target, parts));
    this.#pods.set(uid, workers);
    for (const worker of workers) {
      this.#workers.set(worker.actor, worker);
      worker.start();
    }
    return true;
  }

  /** Called whenever the pod has a new status. Each of its probes reads the status then. */
  podStatusChanged(uid: string): void {
    for (const worker of this.#workersOf(uid)) worker.look();
  }

  /** The pod begins to end: no container is killed for a probe any more, but readiness is still probed. */
  stopLivenessAndStartup(uid: string): void {
    for (const worker of this.#workersOf(uid)) if (worker.kind !== 'readiness') worker.stop();
  }

  /** Nothing of the pod runs any more. */
  removePod(uid: string): void {
    for (const worker of this.#workersOf(uid)) worker.stop();
    this.#pods.delete(uid);
  }

  /** Removes the probes of unknown pods. */
  keepOnly(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#pods.keys()) if (!isKnown(uid)) this.removePod(uid);
  }

  /** The agent stops: nothing is probed any more. */
  stop(): void {
    this.#stopped = true;
    this.keepOnly(() => false);
  }

  results(uid: string): PodProbeResults {
    const workers = this.#workersOf(uid);
    if (workers.length === 0) return NONE;
    const results = { liveness: new Map(), readiness: new Map(), startup: new Map() } satisfies Record<
      ProbeKind,
      Map<string, ProbeResult>
    >;
    for (const { kind, containerId, result } of workers) {
      if (containerId !== undefined && result !== undefined) results[kind].set(containerId, result);
    }
    return results;
  }

  /** Stores changed results of probes on the node, for pods of manifests: the API server does not keep their status. */
  rememberResults(pod: Pod, status: PodStatus | undefined): void {
    if (status === undefined || !isManifestPod(pod)) return;
    const { node } = this.#parts;
    const { uid } = pod.metadata;
    for (const { containerId, known } of probedContainers(pod, status)) {
      const { started, ready } = node.knownContainer(uid, containerId) ?? {};
      if (known.started !== started || known.ready !== ready)
        void node.rememberContainer(uid, containerId, known).catch(() => undefined);
    }
  }

  #workersOf(uid: string): readonly ProbeWorker[] {
    return this.#pods.get(uid) ?? [];
  }
}
