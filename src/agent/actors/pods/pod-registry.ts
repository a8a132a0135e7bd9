/** The pod actors of this node, by UID, and the questions of other parts about them. No other part keeps a copy. */
import { merge, type Observable } from 'rxjs';
import { type ActorRefFrom, createActor, type SnapshotFrom } from 'xstate';
import type { PodEvent, PodTag, RuntimeHolds } from '../../machines/pod-context.ts';
import type { PodContext, podMachine } from '../../machines/pod-machine.ts';
import type { PodWait } from '../../policies/pod/pod-wait.ts';
import { fullName, parsePodFullName } from '../../policies/pod/pod-kinds.ts';
import type { KillPodOptions } from '../../policies/termination/pod-termination.ts';
import type { PodWaits } from '../../runtime/node/pod-waits.ts';
import type { Clock } from '../../../types/clock.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { StateTimes } from '../agent-actor.ts';
import { stateName } from '../transitions.ts';

export type PodMachine = typeof podMachine;
export type PodActor = ActorRefFrom<PodMachine>;
export type PodSnapshot = SnapshotFrom<PodMachine>;

export interface PodEntry {
  readonly pod: PodReference;
  readonly fullName: string;
  readonly actor: PodActor;
  /** Events that were sent after the actor failed; the next actor gets them. */
  readonly backlog: PodEvent[];
}

/** Gets each new actor, and each event that is sent to one. */
export interface PodObserver {
  /** Called before the actor starts. */
  spawned(entry: PodEntry): void;
  sent(uid: string, event: PodEvent): void;
}

export interface PodRegistryParts {
  /** Whether every source has been seen: before that, a UID that is not known may still come. */
  readonly synced: () => boolean;
  readonly observers?: readonly PodObserver[];
  readonly waits?: readonly PodWaits[];
  /** A driver may still have something prepared for the pod. */
  readonly holdsClaims?: (uid: string) => boolean;
}

export class PodRegistry {
  readonly #context: ActorContext;
  readonly #parts: PodRegistryParts;
  readonly #entries = new Map<string, PodEntry>();
  readonly #times: StateTimes;

  /** The pods' actors are children of the context's parent, which also gets their failures. */
  constructor(context: ActorContext, parts: PodRegistryParts) {
    this.#context = context;
    this.#parts = parts;
    this.#times = new StateTimes(context.clock);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(uid: string): PodEntry | undefined {
    return this.#entries.get(uid);
  }

  /** The newest object of the pod that its actor has. */
  podOf(uid: string): Pod | undefined {
    return this.#entries.get(uid)?.actor.getSnapshot().context.pod;
  }

  entries(): IterableIterator<PodEntry> {
    return this.#entries.values();
  }

  /** The pods that have not finished, and whose objects are known. */
  activePods(): readonly Pod[] {
    return [...this.#entries.values()].flatMap(({ actor }) => {
      const snapshot = actor.getSnapshot();
      return snapshot.hasTag('finished') ? [] : (snapshot.context.pod ?? []);
    });
  }

  /** Makes the actor of a new incarnation. It replaces one of the same UID, which must have been stopped. */
  spawn(pod: PodReference, runtimeHolds: RuntimeHolds, machine: PodMachine): PodEntry {
    const { parent, inspect } = this.#context;
    const name = fullName(pod);
    const input = { uid: pod.uid, fullName: name, runtimeHolds };
    const actor = createActor(machine, { id: actorId(name, pod.uid), parent, inspect, input });
    const entry: PodEntry = { pod, fullName: name, actor, backlog: [] };
    this.#entries.set(pod.uid, entry);
    actor.subscribe({
      next: ({ value }) => this.#times.note(actor, stateName(value)),
      error: () => undefined,
    });
    for (const observer of this.#parts.observers ?? []) observer.spawned(entry);
    actor.start();
    return entry;
  }

  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    this.#entries.delete(uid);
    this.#context.parent?.send({ type: 'ACTOR_FORGOTTEN', actor: entry.actor });
  }

  /** false when there is no actor of that UID. */
  send(uid: string, event: PodEvent): boolean {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return false;
    for (const observer of this.#parts.observers ?? []) observer.sent(uid, event);
    if (entry.actor.getSnapshot().status === 'error') entry.backlog.push(event);
    else entry.actor.send(event);
    return true;
  }

  /** Ends a pod. Eviction, preemption and shutdown end pods only in this way (I9). Returns false when there is no actor of that UID. */
  kill(uid: string, options?: KillPodOptions): boolean {
    return this.send(uid, { type: 'SyncPodKill', options });
  }

  /** Since when the chart is in its state, in Unix milliseconds. */
  inStateSince({ actor }: PodEntry): number | undefined {
    return this.#times.since(actor);
  }

  podWait(uid: string): PodWait | undefined {
    for (const waits of this.#parts.waits ?? []) {
      const wait = waits.waitOf(uid);
      if (wait !== undefined) return wait;
    }
    return undefined;
  }

  /** Emits the UIDs of pods that wait for something else than before, as `podWait` tells it. */
  get waitChanges(): Observable<readonly string[]> {
    return merge(...(this.#parts.waits ?? []).map(({ waitChanges }) => waitChanges));
  }

  // The questions of docs/lifecycle.md. Each takes a UID.

  /**
   * Before all sources are seen, an unknown pod may have something that runs. Claims count too: other pods get them as soon as the API server has the
   * pod's end.
   */
  couldHaveRunningContainers(uid: string): boolean {
    if (this.#parts.holdsClaims?.(uid) === true) return true;
    return this.#hasTag(uid, 'couldHaveRunningContainers') ?? !this.#parts.synced();
  }

  isPodTerminationRequested(uid: string): boolean {
    return this.#hasTag(uid, 'terminationRequested') ?? false;
  }

  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return this.#hasTag(uid, 'terminated') ?? this.#parts.synced();
  }

  shouldPodContentBeRemoved(uid: string): boolean {
    const snapshot = this.#snapshot(uid);
    if (snapshot === undefined) return this.#parts.synced();
    const { evicted, pod } = snapshot.context;
    const deleted = pod?.metadata.deletionTimestamp != null;
    return evicted || (deleted && snapshot.hasTag('terminated'));
  }

  isPodKnownTerminated(uid: string): boolean {
    return this.#hasTag(uid, 'terminated') ?? false;
  }

  #hasTag(uid: string, tag: PodTag): boolean | undefined {
    return this.#snapshot(uid)?.hasTag(tag);
  }

  #snapshot(uid: string): PodSnapshot | undefined {
    return this.#entries.get(uid)?.actor.getSnapshot();
  }
}

/** The id in the inspector: the name before the UID. Neither contains a blank. */
function actorId(name: string, uid: string): string {
  return `${name} ${uid}`;
}

export function uidOfActor(id: string): string {
  return id.slice(id.indexOf(' ') + 1);
}

/** So many pods are handled in one turn of the event loop: probes and eviction go on between the turns. */
const PODS_A_TURN = 25;

/** Handles the items in their order, the first ones at once and the others in later turns of the event loop. */
export function inTurns<T>(clock: Clock, items: readonly T[], handle: (item: T) => void): void {
  for (const item of items.slice(0, PODS_A_TURN)) handle(item);
  const others = items.slice(PODS_A_TURN);
  if (others.length > 0) clock.setTimeout(() => inTurns(clock, others, handle), 0);
}

/** The pod of an actor, also where only the runtime knows the pod. */
export function referenceOf({ pod, uid, fullName }: PodContext): PodReference {
  return pod ? pod.metadata : { uid, ...parsePodFullName(fullName) };
}
