import type { PodEvent } from '../../machines/pod-context.ts';
import {
  type ClaimDecision,
  type NameClaim,
  nameDelay,
  releaseName,
  requestName,
} from '../../policies/admission/start-delay.ts';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import type { PodReference } from '../../../types/event-recorder.ts';

export type NameAnswer = Extract<PodEvent, { readonly type: 'NAME_GRANTED' | 'NAME_TAKEN' }>;

interface NameRequest {
  readonly pod: PodReference;
  readonly answer: (event: NameAnswer) => void;
  /** The UID of the pod that it was last told to wait for. */
  waitsFor?: string;
}

/**
 * Which pod of a manifest may run under its full name: one at a time, first come first served (lifecycle 10, I6). A pod that
 * asks is answered at once, and again when the name is granted to it or to another pod.
 */
export class NameArbiter {
  /** By full name. */
  readonly #claims = new Map<string, NameClaim>();
  /** Pods that have a name or wait for one, by UID. */
  readonly #pods = new Map<string, PodReference>();
  /** By UID, in the order in which they asked. */
  readonly #waiting = new Map<string, NameRequest>();
  /**
   * By full name, UIDs of pods that ran before this agent. There may be several of one name: calls of agents that died may have been carried out
   * late.
   */
  readonly #adopted = new Map<string, Set<string>>();

  /** A pod that runs already has its name. */
  adopt(pod: PodReference): void {
    const name = fullName(pod);
    this.#claim(name, requestName(this.#claims.get(name), pod.uid));
    this.#pods.set(pod.uid, pod);
    this.#adopted.set(name, (this.#adopted.get(name) ?? new Set()).add(pod.uid));
  }

  /** Answers with NAME_GRANTED, now or later, and with NAME_TAKEN as long as another pod has the name. */
  request(pod: PodReference, answer: (event: NameAnswer) => void): void {
    const { uid } = pod;
    const name = fullName(pod);
    this.#pods.set(uid, pod);
    this.#claim(name, requestName(this.#claims.get(name), uid));
    const isNew = !this.#waiting.has(uid);
    const request = { pod, answer };
    if (this.#decide(request)) return;
    this.#waiting.set(uid, request);
    // Pods of the same name do not wait for an adopted pod that waits itself.
    if (isNew && this.#adopted.get(name)?.has(uid) === true) this.#decideWaiting(name);
  }

  /** The pod has ended, or will not start: another pod of its name may start. */
  ended(pod: PodReference): void {
    const { uid } = pod;
    const name = fullName(pod);
    this.#pods.delete(uid);
    this.#waiting.delete(uid);
    this.#claim(name, releaseName(this.#claims.get(name), uid));
    const adopted = this.#adopted.get(name);
    if (adopted?.delete(uid) && adopted.size === 0) this.#adopted.delete(name);
    this.#decideWaiting(name);
  }

  #decideWaiting(name: string): void {
    for (const request of [...this.#waiting.values()]) {
      if (fullName(request.pod) === name && this.#waiting.has(request.pod.uid)) this.#decide(request);
    }
  }

  /** Whether the name is granted. */
  #decide(request: NameRequest): boolean {
    const { pod, answer } = request;
    const inTheWay = this.#inTheWayOf(pod);
    if (inTheWay === undefined) {
      this.#waiting.delete(pod.uid);
      answer({ type: 'NAME_GRANTED' });
      return true;
    }
    if (request.waitsFor === inTheWay) return false;
    request.waitsFor = inTheWay;
    answer({ type: 'NAME_TAKEN', delay: nameDelay(this.#pods.get(inTheWay) ?? { ...pod, uid: inTheWay }) });
    return false;
  }

  /** The UID of a pod that must end first. Every adopted pod of the name must, unless it waits for the name itself: then it would never end. */
  #inTheWayOf(pod: PodReference): string | undefined {
    const name = fullName(pod);
    const holder = this.#claims.get(name)?.holder;
    if (holder !== pod.uid) return holder;
    const adopted = [...(this.#adopted.get(name) ?? [])];
    return adopted.find((uid) => uid !== pod.uid && !this.#waiting.has(uid));
  }

  #claim(name: string, { claim }: ClaimDecision): void {
    if (claim === undefined) this.#claims.delete(name);
    else this.#claims.set(name, claim);
  }
}
