import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import { isStaticPod, podFullName } from '../../policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { PodAdmission } from './pod-admission.ts';
import { NameClaims } from './name-claims.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodRemoval } from '../pods/pod-removal.ts';

export type StartRequest = Extract<SupervisorEvent, { readonly type: 'START_REQUESTED' }>;

export interface PodStartsOptions {
  readonly registry: () => PodRegistry;
  readonly removal: PodRemoval;
  readonly admission: Pick<PodAdmission, 'admits'>;
  /** Asks again for a start that had to wait: meanwhile the runtime may have come to be not ready. */
  readonly askAgain: (request: StartRequest) => void;
}

/**
 * Which pods may start: not while the runtime is not ready, nor while what is left of their UID is being removed, nor, of
 * static pods, while another of their name has not ended (I6), nor where the node has no place for them.
 */
export class PodStarts {
  readonly #options: PodStartsOptions;
  readonly #claims = new NameClaims();
  /** Until the runtime is ready. */
  readonly #held = new Map<string, StartRequest>();
  /** For their name, by UID. */
  readonly #waiting = new Map<string, StartRequest>();
  /** By full name, UIDs of those that ran before this agent came: calls of dead agents that land late may leave several. */
  readonly #adopted = new Map<string, Set<string>>();

  constructor(options: PodStartsOptions) {
    this.#options = options;
  }

  /** What runs already has its name. */
  adopt(fullName: string, uid: string): void {
    this.#claims.request(fullName, uid);
    this.#adopted.set(fullName, (this.#adopted.get(fullName) ?? new Set()).add(uid));
  }

  decide(request: StartRequest): void {
    const { pod } = request;
    const { uid } = pod.metadata;
    const registry = this.#options.registry();
    // Its end may have been asked for since it asked: it must take neither name nor room then.
    if (registry.get(uid) === undefined || registry.isPodTerminationRequested(uid)) return;
    const removal = this.#options.removal.underWay(uid);
    if (removal !== undefined) {
      void removal.then(() => this.#options.askAgain(request));
      return;
    }
    if (isStaticPod(pod) && !this.#mayTakeName(pod)) {
      this.#wait(request);
      return;
    }
    this.#waiting.delete(uid);
    if (this.#options.admission.admits(request)) registry.send(uid, { type: 'START_GRANTED' });
  }

  hold(request: StartRequest): void {
    this.#held.set(request.pod.metadata.uid, request);
  }

  decideHeld(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const request of held) this.decide(request);
  }

  /** The pod has ended: who waits for its name may start. */
  ended(fullName: string, uid: string): void {
    this.#held.delete(uid);
    this.#waiting.delete(uid);
    this.#claims.release(fullName, uid);
    const adopted = this.#adopted.get(fullName);
    if (adopted?.delete(uid) && adopted.size === 0) this.#adopted.delete(fullName);
    this.#askAgain(fullName);
  }

  /** Whoever else was adopted has to end first, unless it is wanted as well and waits in its turn: it would never end. */
  #mayTakeName(pod: Pod): boolean {
    const { uid } = pod.metadata;
    const name = podFullName(pod);
    if (!this.#claims.request(name, uid)) return false;
    const others = [...(this.#adopted.get(name) ?? [])].filter((other) => other !== uid);
    return others.every((other) => this.#waiting.has(other));
  }

  #wait(request: StartRequest): void {
    const { pod } = request;
    const { uid } = pod.metadata;
    const name = podFullName(pod);
    const isNews = !this.#waiting.has(uid) && this.#adopted.get(name)?.has(uid) === true;
    this.#waiting.set(uid, request);
    if (isNews) this.#askAgain(name);
  }

  #askAgain(fullName: string): void {
    for (const request of [...this.#waiting.values()])
      if (podFullName(request.pod) === fullName) this.#options.askAgain(request);
  }
}
