import { unlessAborted } from '../../system/unless-aborted.ts';

export interface Ask {
  /** What is asked for by the same key is done once, for all who ask before it begins. */
  readonly key: string;
  /** Whether work that has begun already will do, too. */
  readonly joinsBegun: boolean;
  /** The one who asks does not want it any more. */
  readonly signal: AbortSignal;
}

interface Job<T> {
  readonly key: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly done: PromiseWithResolvers<T>;
  readonly abort: AbortController;
  waiters: number;
}

/** Work in the order in which it is asked for, at most `limit` at a time. What nobody waits for any more is given up. */
export class SharedQueue<T> {
  readonly #limit: number;
  /** In order of arrival. */
  readonly #waiting = new Map<string, Job<T>>();
  readonly #begun = new Set<Job<T>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run(ask: Ask, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    ask.signal.throwIfAborted();
    const job = this.#joinable(ask) ?? this.#add(ask.key, work);
    job.waiters++;
    this.#beginNext();
    try {
      return await unlessAborted(job.done.promise, ask.signal);
    } finally {
      job.waiters--;
      if (job.waiters === 0) this.#giveUp(job);
    }
  }

  #joinable({ key, joinsBegun }: Ask): Job<T> | undefined {
    const begun = joinsBegun ? [...this.#begun].find((job) => job.key === key && job.waiters > 0) : undefined;
    return begun ?? this.#waiting.get(key);
  }

  #add(key: string, work: (signal: AbortSignal) => Promise<T>): Job<T> {
    const done = Promise.withResolvers<T>();
    const job = { key, work, done, abort: new AbortController(), waiters: 0 };
    this.#waiting.set(key, job);
    return job;
  }

  /** Does nothing to a job that has ended. */
  #giveUp(job: Job<T>): void {
    if (this.#waiting.get(job.key) === job) this.#waiting.delete(job.key);
    job.abort.abort();
  }

  #beginNext(): void {
    for (const job of this.#waiting.values()) {
      if (this.#begun.size >= this.#limit) return;
      this.#waiting.delete(job.key);
      void this.#begin(job);
    }
  }

  async #begin(job: Job<T>): Promise<void> {
    this.#begun.add(job);
    try {
      job.done.resolve(await job.work(job.abort.signal));
    } catch (error) {
      // Who gave it up does not listen any more.
      job.done.promise.catch(() => undefined);
      job.done.reject(error);
    } finally {
      this.#begun.delete(job);
      this.#beginNext();
    }
  }
}
