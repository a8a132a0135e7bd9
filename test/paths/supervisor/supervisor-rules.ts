/** What a supervisor owes its pods, whatever its machine says: by what it was told, and by what the pods then do. */
import type { PodRegistry } from '../../../src/actors/pods/pod-registry.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { PODS, type SupervisorEventName } from './supervisor-environment.ts';

const { ending, waiting, wanted, added } = PODS;
const ALL = Object.values(PODS);

export class SupervisorRules {
  readonly #registry: PodRegistry;
  readonly #unseen: Set<string>;
  /** No source wants them any more. */
  readonly #unwanted = new Set<Pod>([ending]);
  /** They are to end, and no others are. */
  readonly #ending = new Set<Pod>();
  /** Asked for, and the runtime has been ready since. */
  readonly #starting = new Set<Pod>([ending, wanted]);
  readonly #syncs = new Map<string, number>();
  #syncsOfWanted = 0;
  #wantedIsToSync = false;
  #hasFailed = false;
  #isReady = false;
  #isLeaving = false;
  /** The agent leaves, and waits for none of its pods any more. */
  hasLeft = false;

  constructor(registry: PodRegistry, sources: readonly string[]) {
    this.#registry = registry;
    this.#unseen = new Set(sources);
    this.#endUnwanted();
  }

  syncBegins(uid: string): void {
    this.#syncs.set(uid, this.#syncsOf(uid) + 1);
  }

  /** The supervisor is about to be told. */
  told(name: SupervisorEventName): void {
    this.#syncsOfWanted = this.#syncsOf(wanted.metadata.uid);
    this.#wantedIsToSync = this.#syncsWanted(name);
    if (name === 'fileSeen') this.#unseen.delete('file');
    if (name === 'httpSeen') this.#unseen.delete('http');
    if (name === 'podFailed') this.#hasFailed = true;
    if (name === 'ready' || name === 'notReady') this.#isReady = name === 'ready';
    if (name === 'podTerminated' || name === 'podFinished' || name === 'actorForgotten')
      this.#ending.add(ending);
    if (!this.#isLeaving) this.#heard(name);
    if (name === 'leave' || name === 'leaveWithPods') this.#isLeaving = true;
    if (name === 'leave' || name === 'allPodsGone') this.hasLeft = true;
    this.#endUnwanted();
  }

  /** What has been broken since it was told, and all that came of it. */
  broken(): readonly string[] {
    if (this.#isReady) for (const pod of [waiting, added]) if (this.#mayStart(pod)) this.#starting.add(pod);
    const synced = this.#syncsOf(wanted.metadata.uid) > this.#syncsOfWanted;
    const lives = this.#isKnown(wanted) && !this.#ending.has(wanted) && !this.#hasFailed;
    return [
      ...ALL.filter((pod) => this.#isKnown(pod)).flatMap((pod) => this.#brokenBy(pod)),
      ...(lives && synced !== this.#wantedIsToSync ? [`the wanted pod is synced: ${synced}`] : []),
    ];
  }

  /** What is heard only until the agent leaves. */
  #heard(name: SupervisorEventName): void {
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

  /** Nothing is ended for not being wanted before every source has been seen. */
  #endUnwanted(): void {
    if (this.#unseen.size === 0) for (const pod of this.#unwanted) this.#ending.add(pod);
  }

  /** The name of the one that waits is given on once the other is Terminated. */
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
