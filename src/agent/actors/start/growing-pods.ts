import type { Admission } from '../../policies/admission/admit-pod.ts';
import type { StartDelay } from '../../policies/admission/start-delay.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { Preemptions } from './preemptions.ts';

interface Growth {
  /** With what it requests now. */
  readonly pod: Pod;
  /** Called when there is room: asks for the resize again. */
  readonly offer: () => void;
  /** The pods for whose end it waits. */
  delay?: StartDelay;
}

export interface GrowingPodsParts {
  readonly preemptions: Pick<Preemptions, 'has' | 'begin' | 'withdraw'>;
  /** Whether the node has room for what the pod requests now. */
  readonly admission: (pod: Pod) => Admission;
}

/** Admitted pods for whose resize other pods end. */
export class GrowingPods {
  readonly #parts: GrowingPodsParts;
  /** By UID. */
  readonly #pods = new Map<string, Growth>();

  constructor(parts: GrowingPodsParts) {
    this.#parts = parts;
  }

  get(uid: string): Growth | undefined {
    return this.#pods.get(uid);
  }

  /** Ends other pods so that this one can have what it requests now. Calls `offer` when there is room. */
  makeRoom(pod: Pod, offer: () => void): void {
    const { preemptions } = this.#parts;
    this.#pods.set(pod.metadata.uid, { pod, offer });
    if (!preemptions.has(pod.metadata.uid)) preemptions.begin(pod.metadata);
  }

  /** The pod has what it requests, or does not request it any more. */
  stop(uid: string): void {
    if (this.#pods.delete(uid)) this.#parts.preemptions.withdraw(uid);
  }

  /** There should be room now. */
  admit({ pod, offer }: Growth): Admission {
    const admission = this.#parts.admission(pod);
    if (admission.kind !== 'admitted') return admission;
    // Before `offer`: the granted resize calls `stop`, which must not withdraw the preemption. The preemption gets this answer.
    this.#pods.delete(pod.metadata.uid);
    offer();
    return admission;
  }

  /** Returns whether the pod was one of them. */
  forget(uid: string): boolean {
    return this.#pods.delete(uid);
  }
}
