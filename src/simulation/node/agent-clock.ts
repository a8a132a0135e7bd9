import type { Clock, TimerHandle } from '../../types/clock.ts';
import type { Logger } from '../../types/logger.ts';
import type { Violation } from '../history.ts';

/** The clock of one agent: when the agent is killed, none of its timers fires any more. */
export class AgentClock implements Clock {
  readonly #clock: Clock;
  readonly #armed = new Set<TimerHandle>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  setTimeout(callback: () => void, delayMs: number): TimerHandle {
    if (this.#isStopped) return 0;
    const handle = this.#clock.setTimeout(() => {
      this.#armed.delete(handle);
      callback();
    }, delayMs);
    this.#armed.add(handle);
    return handle;
  }

  clearTimeout(handle: TimerHandle): void {
    if (this.#armed.delete(handle)) this.#clock.clearTimeout(handle);
  }

  /** From now on no timer fires, and no timer can be armed. */
  stop(): void {
    this.#isStopped = true;
    for (const handle of this.#armed) this.#clock.clearTimeout(handle);
    this.#armed.clear();
  }
}

/** The agent logs an error only if its charts did not foresee something: that is a defect. */
export function judgedLogger(onViolation: (violation: Omit<Violation, 'node'>) => void): Logger {
  const nothing = () => undefined;
  return {
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (fields, what) => {
      const uid = 'uid' in fields ? { uid: String(fields.uid) } : {};
      // A line about a broken invariant names it: "… (I5)".
      const [, invariant = 'defect'] = /\((I\d+)\)$/.exec(what) ?? [];
      onViolation({ invariant, what, ...uid });
    },
  };
}
