import type { SupervisorEvent } from '../machines/supervisor-machine.ts';
import { NameClaims } from './name-claims.ts';
import type { PodRegistry } from './pod-registry.ts';
import type { PodRemoval } from './pod-removal.ts';

export type StartRequest = Extract<SupervisorEvent, { readonly type: 'START_REQUESTED' }>;

export interface PodStartsOptions {
  readonly registry: () => PodRegistry;
  readonly removal: PodRemoval;
  /** Asks again for a start that had to wait: meanwhile the runtime may have come to be not ready. */
  readonly askAgain: (request: StartRequest) => void;
}

/**
 * Which pods may start: not while the runtime is not ready, nor while what is left of their UID is being removed, nor, of
 * static pods, while another of their name has not ended (I6).
 */
export class PodStarts {
  readonly #options: PodStartsOptions;
  readonly #claims = new NameClaims();
  readonly #held = new Map<string, StartRequest>();

  constructor(options: PodStartsOptions) {
    this.#options = options;
  }

  /** What runs already has its name. */
  adopt(fullName: string, uid: string): void {
    this.#claims.request(fullName, uid);
  }

  decide(request: StartRequest): void {
    const { uid, fullName } = request;
    const registry = this.#options.registry();
    // It may have ended since it asked: it must not take the name then.
    if (registry.get(uid) === undefined || registry.isPodKnownTerminated(uid)) return;
    const removal = this.#options.removal.underWay(uid);
    if (removal !== undefined) {
      void removal.then(() => this.#options.askAgain(request));
      return;
    }
    const mustWait = fullName !== undefined && !this.#claims.request(fullName, uid);
    if (!mustWait) registry.send(uid, { type: 'START_GRANTED' });
  }

  hold(request: StartRequest): void {
    this.#held.set(request.uid, request);
  }

  decideHeld(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const request of held) this.decide(request);
  }

  /** The pod has ended: who waits for its name may start. */
  ended(fullName: string, uid: string): void {
    this.#held.delete(uid);
    const next = this.#claims.release(fullName, uid);
    if (next !== undefined) this.#options.askAgain({ type: 'START_REQUESTED', uid: next, fullName });
  }
}
