import type { AnyActorRef } from 'xstate';
import type { probeMachine } from '../../machines/probe-machine.ts';
import { type ProbeKind, type ProbeResult, probeTargets } from '../../policies/probes/probe.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { ProbeWorker, type ProbeWorkerDeps, provideProbeMachine } from './probe-worker.ts';

/** The results of one pod's probes, by the runtime's container id. Without an entry there is no result yet. */
type PodProbeResults = Readonly<Record<ProbeKind, ReadonlyMap<string, ProbeResult>>>;

const NONE: PodProbeResults = { liveness: new Map(), readiness: new Map(), startup: new Map() };

/** The probes of all pods. A pod that has none costs nothing. */
export class ProbeManager {
  readonly #deps: ProbeWorkerDeps;
  readonly #pods = new Map<string, readonly ProbeWorker[]>();
  readonly #workers = new WeakMap<AnyActorRef, ProbeWorker>();
  #machine: typeof probeMachine | undefined;
  #stopped = false;

  constructor(deps: Omit<ProbeWorkerDeps, 'agentStartedAt'>) {
    this.#deps = { ...deps, agentStartedAt: deps.clock.now() };
  }

  /** Unix ms. */
  get agentStartedAt(): number {
    return this.#deps.agentStartedAt;
  }

  /**
   * Called before the pod's containers are started. The probes of a known pod stay as they are. Returns whether there are new
   * probes: for containers that run already, their first results may follow from the pod's status.
   */
  addPod(pod: Pod): boolean {
    const { uid } = pod.metadata;
    if (this.#stopped || this.#pods.has(uid)) return false;
    const targets = probeTargets(pod);
    if (targets.length === 0) return false;
    this.#machine ??= provideProbeMachine((actor) => this.#workers.get(actor));
    const machine = this.#machine;
    const workers = targets.map((target) => new ProbeWorker(machine, target, this.#deps));
    this.#pods.set(uid, workers);
    for (const worker of workers) {
      this.#workers.set(worker.actor, worker);
      worker.start();
    }
    return true;
  }

  /** Called whenever the pod has a new status. The probes look at it then, and not before their next run. */
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

  #workersOf(uid: string): readonly ProbeWorker[] {
    return this.#pods.get(uid) ?? [];
  }
}
