/** What the supervisor has to do with its pods, by its events and not by its machine: the replay checks that the pods do it. */
import type { PodRegistry } from '../../../src/actors/pods/pod-registry.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { PODS, type SupervisorEventName } from './supervisor-environment.ts';

const { ending, waiting, wanted, added } = PODS;
const ALL = Object.values(PODS);

export class SupervisorRules {
  readonly #registry: PodRegistry;
  readonly #unseen: Set<string>;
  /** Pods that no source wants any more. */
  readonly #unwanted = new Set<Pod>([ending]);
  /** The pods that have to end. No other pods may end. */
  readonly #ending = new Set<Pod>();
  /** The pods that have to be started: wanted, with the runtime ready since then. */
  readonly #starting = new Set<Pod>([ending, wanted]);
  readonly #syncs = new Map<string, number>();
  #syncsOfWanted = 0;
  #wantedIsToSync = false;
  #hasFailed = false;
  #isReady = false;
  #isLeaving = false;
  /** The agent has stopped, and waits for none of its pods. */
  hasLeft = false;

  constructor(registry: PodRegistry, sources: readonly string[]) {
    this.#registry = registry;
    this.#unseen = new Set(sources);
    this.#endUnwanted();
  }

  syncBegins(uid: string): void {
    this.#syncs.set(uid, this.#syncsOf(uid) + 1);
  }

  /** Called before the supervisor receives the event. */
  told(name: SupervisorEventName): void {
    this.#syncsOfWanted = this.#syncsOf(wanted.metadata.uid);
    this.#wantedIsToSync = this.#syncsWanted(name);
    if (name === 'fileSeen') this.#unseen.delete('file');
    if (name === 'httpSeen') this.#unseen.delete('http');
    if (name === 'podFailed') this.#hasFailed = true;
    if (name === 'ready' || name === 'notReady') this.#isReady = name === 'ready';
    if (name === 'podTerminated' || name === 'podFinished' || name === 'actorForgotten')
      this.#ending.add(ending);
    if (!this.#isLeaving) this.#beforeLeaving(name);
    if (name === 'leave' || name === 'leaveWithPods') this.#isLeaving = true;
    if (name === 'leave' || name === 'allPodsGone') this.hasLeft = true;
    this.#endUnwanted();
  }

  /** The rules that are broken, after the event and all that followed from it. */
  broken(): readonly string[] {
    if (this.#isReady) for (const pod of [waiting, added]) if (this.#mayStart(pod)) this.#starting.add(pod);
    const synced = this.#syncsOf(wanted.metadata.uid) > this.#syncsOfWanted;
    const lives = this.#isKnown(wanted) && !this.#ending.has(wanted) && !this.#hasFailed;
    return [
      ...ALL.filter((pod) => this.#isKnown(pod)).flatMap((pod) => this.#brokenBy(pod)),
      ...(lives && synced !== this.#wantedIsToSync ? [`the wanted pod is synced: ${synced}`] : []),
    ];
  }

  /** Events that count only until the agent leaves. */
  #beforeLeaving(name: SupervisorEventName): void {
    if (name === 'remove') this.#unwanted.add(wanted);
    if (name === 'delete') this.#ending.add(wanted);
    if (name !== 'leaveWithPods') return;
    for (const pod of ALL) this.#ending.add(pod);
  }

  #syncsWanted(name: SupervisorEventName): boolean {
    if (name === 'ready') return !this.#isReady;
    if (name === 'sync') return this.#isReady;
    if (name === 'update' || name === 'reconcile') return !this.#isLeaving;
    return name === 'pleg' || name === 'probe';
  }

  /** Pods that are not wanted are ended only after every source has been seen. */
  #endUnwanted(): void {
    if (this.#unseen.size === 0) for (const pod of this.#unwanted) this.#ending.add(pod);
  }

  /** The waiting pod gets its name when the other pod is Terminated. */
  #mayStart(pod: Pod): boolean {
    if (!this.#isKnown(pod) || this.#ending.has(pod)) return false;
    const { uid } = ending.metadata;
    return pod === added || this.#registry.get(uid) === undefined || this.#registry.isPodKnownTerminated(uid);
  }

  #brokenBy(pod: Pod): readonly string[] {
    const { uid } = pod.metadata;
    const ends = this.#registry.isPodTerminationRequested(uid);
    const hasStarted = this.#syncsOf(uid) > 0;
    return [
      ...(ends === this.#ending.has(pod) ? [] : [`${uid} ends: ${ends}`]),
      ...(ends || hasStarted === this.#starting.has(pod) ? [] : [`${uid} has started: ${hasStarted}`]),
    ];
  }

  #isKnown({ metadata }: Pod): boolean {
    return this.#registry.get(metadata.uid) !== undefined;
  }

  #syncsOf(uid: string): number {
    return this.#syncs.get(uid) ?? 0;
  }
}
