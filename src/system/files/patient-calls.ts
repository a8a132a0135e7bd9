/** Calls of the file system that may never return, as on a network file system whose server is away. */
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import { systemClock } from '../timer.ts';

/** Each call that hangs holds one of the four threads that Node has for all files. */
const CALLS_MAX = 2;
/** A file on a disk that is only slow is read next time. */
const DEADLINE_MS = 5_000;
/** Of a file without which the agent does not start: there is no next time, and a disk that is only busy may take long. */
export const START_DEADLINE_MS = 60_000;

interface Call {
  readonly path: string;
}

export class PatientCalls {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #underWay = new Set<Call>();
  readonly #hanging = new Set<Call>();
  /** Each lets a call go on that waits for its turn. */
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Rejects with a StateletError of kind DeadlineExceeded where the call for the path takes longer than the deadline, at once where an
   * earlier one for it is still under way, and where too many for other paths are. The call itself goes on. `work` makes one call of the
   * file system after the other.
   */
  async call<T>(path: string, work: () => Promise<T>, deadlineMs = this.#deadlineMs): Promise<T> {
    this.#refuseIfHanging(path);
    while (this.#underWay.size >= CALLS_MAX) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#refuseIfHanging(path);
    }
    const own: Call = { path };
    this.#underWay.add(own);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.setTimeout(() => {
      this.#hanging.add(own);
      reject(hangs());
      for (const goOn of this.#hanging.size >= CALLS_MAX ? this.#waiting.splice(0) : []) goOn();
    }, deadlineMs);
    const called = work().finally(() => {
      this.#clock.clearTimeout(timer);
      this.#underWay.delete(own);
      this.#hanging.delete(own);
      this.#waiting.shift()?.();
    });
    return Promise.race([called, late]);
  }

  #refuseIfHanging(path: string): void {
    const paths = [...this.#hanging].map((call) => call.path);
    if (paths.includes(path)) throw hangs();
    if (paths.length < CALLS_MAX) return;
    const others = paths.sort().join(' and ');
    throw new StateletError('DeadlineExceeded', `no other file is read while ${others} do not answer`);
  }
}

/** For all files that operators provide: the threads are those of the whole process. */
export const patientCalls = new PatientCalls(systemClock, DEADLINE_MS);

/** For what the agent does not start without. */
export function callAtStart<T>(path: string, work: () => Promise<T>): Promise<T> {
  return patientCalls.call(path, work, START_DEADLINE_MS);
}

function hangs(): StateletError {
  return new StateletError('DeadlineExceeded', 'its file system does not answer');
}
