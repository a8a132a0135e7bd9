import { errorMessage, StateletError } from '../types/errors.ts';

/** For work that is never aborted. */
export const NEVER_ABORTED = new AbortController().signal;

/**
 * Runs the work for each item, for at most `limit` of them at a time. After a failure no other begins. Settles when no work is under
 * way any more; rejects with the first failure.
 */
export async function eachOf<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const failures: unknown[] = [];
  const runInTurn = async () => {
    try {
      for (let next = await waiting.next(); !next.done; next = await waiting.next()) {
        if (failures.length > 0) return;
        await work(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: limit }, runInTurn));
  await waiting.return?.();
  if (failures.length > 0) throw failures[0];
}

/** Waits until all promises have settled, then rejects if some have failed: none is under way any more. */
export async function allOrFirstFailure(work: readonly Promise<unknown>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).filter((result) => result.status === 'rejected');
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first.reason;
  throw new StateletError('Internal', failures.map(({ reason }) => errorMessage(reason)).join('; '), {
    cause: first.reason,
  });
}

/** Work that is done in the order in which it is asked for, each after the one before has ended, however that ended. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** Does the work where it is first asked for, and never again. */
export function once<T>(work: () => T): () => T {
  let result: { readonly value: T } | undefined;
  return () => (result ??= { value: work() }).value;
}

/** Does synchronous work where a promise is wanted: what the work throws becomes a rejection. */
export function promiseOf<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}

/**
 * Calls `act` with the reason once one of the signals aborts, at once where one has. Returns a function that forgets it. Node keeps a signal of
 * `AbortSignal.any`, and all that its listeners reach, until it aborts or has no listener: one that may never abort is not listened to.
 */
export function whenAborted(signals: readonly AbortSignal[], act: (reason: Error) => void): () => void {
  const forget = () => {
    for (const signal of signals) signal.removeEventListener('abort', aborted);
  };
  const aborted = () => {
    forget();
    act(signals.find((signal) => signal.aborted)?.reason as Error);
  };
  for (const signal of signals) signal.addEventListener('abort', aborted);
  if (signals.some((signal) => signal.aborted)) aborted();
  return forget;
}

/** The outcome of the work, or a rejection with the signal's reason as soon as it aborts. The work itself goes on. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Work that fails after that concerns no caller any more.
  work.catch(() => undefined);
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const forget = whenAborted([signal], reject);
  try {
    return await Promise.race([work, promise]);
  } finally {
    forget();
  }
}
