import { unlessAborted } from '../../../system/promises.ts';

export interface QueueRequest {
  /** Requests with the same key share one job until it begins. */
  readonly key: string;
  /** Whether the request may share a job that has begun already. */
  readonly joinsBegun: boolean;
  /** Aborts the request. The job goes on while other requests wait for it. */
  readonly signal: AbortSignal;
}

interface Job<T> {
  readonly key: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly done: PromiseWithResolvers<T>;
  readonly abort: AbortController;
  waiters: number;
}

/** Runs jobs in the order of the requests, at most `limit` at the same time. A job is aborted when no request waits for it any more. */
export class SharedQueue<T> {
  readonly #limit: number;
  /** In order of arrival. */
  readonly #waiting = new Map<string, Job<T>>();
  readonly #begun = new Set<Job<T>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run(request: QueueRequest, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    request.signal.throwIfAborted();
    const job = this.#joinable(request) ?? this.#add(request.key, work);
    job.waiters++;
    this.#beginNext();
    try {
      return await unlessAborted(job.done.promise, request.signal);
    } finally {
      job.waiters--;
      if (job.waiters === 0) this.#abort(job);
    }
  }

  #joinable({ key, joinsBegun }: QueueRequest): Job<T> | undefined {
    const begun = joinsBegun ? [...this.#begun].find((job) => job.key === key && job.waiters > 0) : undefined;
    return begun ?? this.#waiting.get(key);
  }

  #add(key: string, work: (signal: AbortSignal) => Promise<T>): Job<T> {
    const done = Promise.withResolvers<T>();
    const job = { key, work, done, abort: new AbortController(), waiters: 0 };
    this.#waiting.set(key, job);
    return job;
  }

  /** Has no effect on a job that has ended. */
  #abort(job: Job<T>): void {
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
      // Where all requests were aborted, the rejection has no listener.
      job.done.promise.catch(() => undefined);
      job.done.reject(error);
    } finally {
      this.#begun.delete(job);
      this.#beginNext();
    }
  }
}
