/** Calls of the file system that may never return, as on a network file system whose server is away. */
import type { Clock } from '../types/clock.ts';
import { StateletError } from '../types/errors.ts';

/** Each call that hangs holds one of the four threads that Node has for all files. */
const HANGING_MAX = 2;

export class PatientCalls {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #hanging = new Set<string>();

  constructor(clock: Clock, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Rejects with a StateletError of kind DeadlineExceeded where the call for the path takes longer than the deadline, at once where an
   * earlier one for it is still under way, and where too many for other paths are. The call itself goes on.
   */
  async call<T>(path: string, work: () => Promise<T>): Promise<T> {
    if (this.#hanging.has(path)) throw hangs();
    if (this.#hanging.size >= HANGING_MAX) {
      const others = [...this.#hanging].sort().join(' and ');
      throw new StateletError('DeadlineExceeded', `no other file is read while ${others} do not answer`);
    }
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.setTimeout(() => {
      this.#hanging.add(path);
      reject(hangs());
    }, this.#deadlineMs);
    const called = work().finally(() => {
      this.#clock.clearTimeout(timer);
      this.#hanging.delete(path);
    });
    return Promise.race([called, late]);
  }
}

function hangs(): StateletError {
  return new StateletError('DeadlineExceeded', 'its file system does not answer');
}
