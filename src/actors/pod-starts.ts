import type { SupervisorEvent } from '../machines/supervisor-machine.ts';
import { isStaticPod, podFullName } from '../policies/pod-kinds.ts';
import type { PodAdmission } from './pod-admission.ts';
import { NameClaims } from './name-claims.ts';
import type { PodRegistry } from './pod-registry.ts';
import type { PodRemoval } from './pod-removal.ts';

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
  /** For their name. */
  readonly #waiting = new Map<string, StartRequest>();

  constructor(options: PodStartsOptions) {
    this.#options = options;
  }

  /** What runs already has its name. */
  adopt(fullName: string, uid: string): void {
    this.#claims.request(fullName, uid);
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
    if (isStaticPod(pod) && !this.#claims.request(podFullName(pod), uid)) this.#waiting.set(uid, request);
    else if (this.#options.admission.admits(request)) registry.send(uid, { type: 'START_GRANTED' });
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
    const next = this.#claims.release(fullName, uid);
    const request = next === undefined ? undefined : this.#waiting.get(next);
    if (request === undefined) return;
    this.#waiting.delete(request.pod.metadata.uid);
    this.#options.askAgain(request);
  }
}
