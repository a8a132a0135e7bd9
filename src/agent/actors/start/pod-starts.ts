import type { PodContext, PodEvent } from '../../machines/pod-context.ts';
import type { UsedResources } from '../../policies/admission/used-resources.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { referenceOf } from '../pods/pod-registry.ts';
import type { Loop } from '../actor-context.ts';
import type { PodRemoval } from '../pods/pod-removal.ts';
import { NameArbiter } from './name-arbiter.ts';
import type { RoomArbiter } from './room-arbiter.ts';

type Answer = (event: PodEvent) => void;

/** What a pod asks for before it starts, in this order. The answers are the events that the pod's chart waits for. */
export interface StartGates {
  awaitRuntime(context: PodContext, answer: Answer): void;
  awaitRemoval(context: PodContext, answer: Answer): void;
  requestName(context: PodContext, answer: Answer): void;
  requestRoom(context: PodContext, answer: Answer): void;
  makeRoom(context: PodContext, answer: Answer): void;
}

export interface PodStartsParts {
  readonly removal: Pick<PodRemoval, 'underWay'>;
  readonly room: RoomArbiter;
  readonly loop: Loop;
}

/** What pods wait for before they start: the runtime, the removal of an earlier pod of their UID, their name, their room. */
export class PodStarts implements StartGates {
  readonly #parts: PodStartsParts;
  readonly #names = new NameArbiter();

  constructor(parts: PodStartsParts) {
    this.#parts = parts;
  }

  /** What the admitted pods have reserved of the node. */
  get reserved(): UsedResources {
    return this.#parts.room.reserved;
  }

  /** A pod that ran before this agent has its name already. */
  adoptName(pod: PodReference): void {
    this.#names.adopt(pod);
  }

  /** A pod that runs already holds what it requests. */
  adoptRoom(pod: Pod): void {
    this.#parts.room.adopt(pod);
  }

  /** The loop answers with RUNTIME_READY or RUNTIME_NOT_READY. */
  awaitRuntime({ uid }: PodContext): void {
    this.#parts.loop.send({ type: 'RUNTIME_AWAITED', uid });
  }

  awaitRemoval({ uid }: PodContext, answer: Answer): void {
    const removal = this.#parts.removal.underWay(uid);
    if (removal === undefined) {
      answer({ type: 'REMOVED' });
      return;
    }
    answer({ type: 'REMOVING' });
    void removal.then(() => answer({ type: 'REMOVED' }));
  }

  requestName(context: PodContext, answer: Answer): void {
    this.#names.request(referenceOf(context), answer);
  }

  requestRoom({ pod }: PodContext, answer: Answer): void {
    if (pod !== undefined) this.#parts.room.request(pod, answer);
  }

  makeRoom({ pod }: PodContext, answer: Answer): void {
    if (pod !== undefined) this.#parts.room.makeRoom(pod, answer);
  }

  /** The pod has ended. Its room goes to preemptions that wait for it; then its name goes to the next pod; then other pods are offered the room. */
  ended(pod: PodReference): void {
    const { room } = this.#parts;
    const waiting = room.ended(pod.uid);
    this.#names.ended(pod);
    room.offer(waiting);
  }

  offerRoom(): void {
    this.#parts.room.offerAll();
  }

  /** A pod that only the runtime knew has ended: its name is free. */
  nameFreed(pod: PodReference): void {
    this.#names.ended(pod);
  }

  stop(): void {
    this.#parts.room.stop();
  }
}
