import { type Observable, Subject } from 'rxjs';
import { Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';

/** How many pods are emitted in one turn of the event loop: a change may concern all pods of the node. */
const PODS_A_TURN = 25;

/** The UIDs of pods that refer to an object which has changed. */
export class ChangedPods {
  readonly #changes = new Subject<string>();
  readonly #waiting = new Set<string>();
  readonly #timer: Timer;

  constructor(clock: Clock) {
    this.#timer = new Timer(clock);
  }

  get changes(): Observable<string> {
    return this.#changes;
  }

  tell(uids: Iterable<string>): void {
    for (const uid of uids) this.#waiting.add(uid);
    if (!this.#timer.isArmed) this.#turn();
  }

  forget(uid: string): void {
    this.#waiting.delete(uid);
  }

  stop(): void {
    this.#timer.disarm();
    this.#waiting.clear();
  }

  #turn(): void {
    const now = [...this.#waiting].slice(0, PODS_A_TURN);
    for (const uid of now) this.#waiting.delete(uid);
    if (this.#waiting.size > 0) this.#timer.arm(0, () => this.#turn());
    for (const uid of now) this.#changes.next(uid);
  }
}
