import type { PodContext, PodEvent } from '../../machines/pod-context.ts';
import type { UsedResources } from '../../policies/admission/used-resources.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { referenceOf } from '../pods/pod-reference.ts';
import type { PodRemoval } from '../pods/pod-removal.ts';
import type { NameArbiter } from './name-arbiter.ts';
import type { RoomArbiter } from './room-arbiter.ts';

type Answer = (event: PodEvent) => void;

/** What a pod asks before it starts, in this order. Each is answered by the events that the pod's chart waits for. */
export interface StartGates {
  awaitRuntime(context: PodContext, answer: Answer): void;
  awaitRemoval(context: PodContext, answer: Answer): void;
  requestName(context: PodContext, answer: Answer): void;
  requestRoom(context: PodContext, answer: Answer): void;
  makeRoom(context: PodContext, answer: Answer): void;
}

export interface PodStartsOptions {
  readonly removal: PodRemoval;
  readonly names: NameArbiter;
  readonly room: RoomArbiter;
  /** Answered by RUNTIME_READY or RUNTIME_NOT_READY to the pod of that UID. */
  readonly askForRuntime: (uid: string) => void;
}

/** The way of pods to their start: the runtime, the removal of an earlier pod of their UID, their name, their room. */
export class PodStarts implements StartGates {
  readonly #options: PodStartsOptions;

  constructor(options: PodStartsOptions) {
    this.#options = options;
  }

  /** What the admitted pods hold. */
  get held(): UsedResources {
    return this.#options.room.held;
  }

  /** A pod that ran before this agent has its name already. */
  adoptName(pod: PodReference): void {
    this.#options.names.adopt(pod);
  }

  /** A pod that runs already holds what it requests. */
  adoptRoom(pod: Pod): void {
    this.#options.room.adopt(pod);
  }

  awaitRuntime({ uid }: PodContext): void {
    this.#options.askForRuntime(uid);
  }

  awaitRemoval({ uid }: PodContext, answer: Answer): void {
    const removal = this.#options.removal.underWay(uid);
    if (removal === undefined) {
      answer({ type: 'REMOVED' });
      return;
    }
    answer({ type: 'REMOVING' });
    void removal.then(() => answer({ type: 'REMOVED' }));
  }

  requestName(context: PodContext, answer: Answer): void {
    this.#options.names.request(referenceOf(context), answer);
  }

  requestRoom({ pod }: PodContext, answer: Answer): void {
    if (pod !== undefined) this.#options.room.request(pod, answer);
  }

  makeRoom({ pod }: PodContext, answer: Answer): void {
    if (pod !== undefined) this.#options.room.makeRoom(pod, answer);
  }

  /** The pod has ended: its room goes to preemptions that wait for it, then its name is given on, then the room is offered. */
  ended(pod: PodReference): void {
    const { names, room } = this.#options;
    const waiting = room.ended(pod.uid);
    names.ended(pod);
    room.offer(waiting);
  }

  offerRoom(): void {
    this.#options.room.offerAll();
  }

  /** A pod that only the runtime knew has ended: its name is free. */
  nameFreed(pod: PodReference): void {
    this.#options.names.ended(pod);
  }

  stop(): void {
    this.#options.room.stop();
  }
}
