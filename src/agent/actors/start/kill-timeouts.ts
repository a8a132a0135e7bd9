import type { Clock, TimerHandle } from '../../../types/clock.ts';
import type { EventRecorder, PodReference } from '../../../types/event-recorder.ts';

/** The kubelet waits 1.5 times the grace period for the end of a pod, and at least this long. */
const MIN_PATIENCE_MS = 10_000;
const PATIENCE_FACTOR = 1.5;

/** The kubelet's event for a pod that has not ended in time. */
export function recordExceededGracePeriod(recorder: EventRecorder, pod: PodReference): void {
  const message = 'Container runtime did not kill the pod within specified grace period.';
  recorder.event(pod, 'Warning', 'ExceededGracePeriod', message);
}

/** How long the end of a pod is waited for. */
export function endPatienceMs(gracePeriodSeconds: number): number {
  return Math.max(MIN_PATIENCE_MS, PATIENCE_FACTOR * gracePeriodSeconds * 1000);
}

/** Time limits for the ends of pods, by UID. */
export class KillTimeouts {
  readonly #clock: Clock;
  readonly #timers = new Map<string, TimerHandle>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(uid: string): boolean {
    return this.#timers.has(uid);
  }

  /** `onOver` gets the problem when the pod has not ended in time. */
  set(uid: string, gracePeriodSeconds: number, onOver: (problem: string) => void): void {
    this.lift(uid);
    const patienceMs = endPatienceMs(gracePeriodSeconds);
    const over = () => {
      this.#timers.delete(uid);
      onOver(`it has not ended within ${patienceMs / 1000} s`);
    };
    this.#timers.set(uid, this.#clock.setTimeout(over, patienceMs));
  }

  /** The pod has ended. Returns whether there was a limit for it. */
  lift(uid: string): boolean {
    const timer = this.#timers.get(uid);
    if (timer === undefined) return false;
    this.#timers.delete(uid);
    this.#clock.clearTimeout(timer);
    return true;
  }

  /** Drops all limits. */
  clear(): void {
    for (const uid of [...this.#timers.keys()]) this.lift(uid);
  }
}
