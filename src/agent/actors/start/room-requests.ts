import type { PodEvent } from '../../machines/pod-context.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';

export type RoomAnswer = Extract<
  PodEvent,
  { readonly type: 'ADMITTED' | 'SHORT' | 'PREEMPTING' | 'REJECTED' | 'ROOM_FREED' }
>;

export interface RoomRequest {
  readonly pod: Pod;
  readonly answer: (event: RoomAnswer) => void;
  /** Aborted when the answer does not matter any more. */
  readonly asked: AbortController;
  /** Requests are numbered in their order. */
  readonly number: number;
  /** Whether it was ADMITTED, SHORT or REJECTED. */
  isAnswered: boolean;
}

/** The latest request of each pod that has no place, by UID, in the order in which they first asked. */
export class RoomRequests {
  readonly #registry: PodRegistry;
  readonly #latest = new Map<string, RoomRequest>();
  /** The number of the latest request. */
  #count = 0;

  constructor(registry: PodRegistry) {
    this.#registry = registry;
  }

  get(uid: string): RoomRequest | undefined {
    return this.#latest.get(uid);
  }

  /** It is not kept yet: see `keep`. */
  make(pod: Pod, answer: RoomRequest['answer']): RoomRequest {
    return { pod, answer, asked: new AbortController(), number: ++this.#count, isAnswered: false };
  }

  /** An earlier request of the pod gets no answer any more. Returns that request. */
  keep(request: RoomRequest): RoomRequest | undefined {
    const { uid } = request.pod.metadata;
    const before = this.#latest.get(uid);
    before?.asked.abort();
    this.#latest.set(uid, request);
    return before;
  }

  /** The pod has a place. */
  served(uid: string): void {
    this.#latest.delete(uid);
  }

  /** Nobody waits for an answer any more. */
  forget(uid: string): void {
    this.#latest.get(uid)?.asked.abort();
    this.#latest.delete(uid);
  }

  /** What is being asked for them ends. */
  stop(): void {
    for (const { asked } of this.#latest.values()) asked.abort();
  }

  /** The pod has not asked once more, and has not been told to end meanwhile. */
  isAwaited(request: RoomRequest): boolean {
    const { uid } = request.pod.metadata;
    return this.get(uid) === request && !this.#registry.isPodTerminationRequested(uid);
  }

  /** With the newest version of its pod; undefined for a pod that has been told to end. */
  wanted(uid: string): RoomRequest | undefined {
    const [request, pod] = [this.get(uid), this.#registry.podOf(uid)];
    if (request === undefined || pod === undefined || this.#registry.isPodTerminationRequested(uid))
      return undefined;
    return { ...request, pod };
  }

  /** Whether the pod has asked, and has no answer yet. */
  isJudged(uid: string): boolean {
    return this.#latest.has(uid) && this.#isStarting(uid, 'Admitting');
  }

  /** UIDs of the pods that wait for room: the most important first, then the one that has waited longest. */
  waiting(): readonly string[] {
    const waiting = [...this.#latest.keys()].filter((uid) => this.#isStarting(uid, 'AwaitingRoom'));
    const priorityOf = (uid: string) => this.#registry.podOf(uid)?.spec.priority ?? 0;
    return waiting.sort((a, b) => priorityOf(b) - priorityOf(a));
  }

  #isStarting(uid: string, state: 'Admitting' | 'AwaitingRoom'): boolean {
    const snapshot = this.#registry.get(uid)?.actor.getSnapshot();
    return snapshot?.matches({ Syncing: { Starting: state } }) === true;
  }
}
