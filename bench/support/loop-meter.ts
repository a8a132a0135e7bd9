/** Measures how long the event loop was blocked: the CPU time of this thread between two turns. The load of other processes does not count. */
export class LoopMeter {
  #last = process.threadCpuUsage();
  #longestMs = 0;
  #isStopped = false;

  constructor() {
    this.#turn();
  }

  /** Milliseconds of the longest turn since the last call. */
  take(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  stop(): void {
    this.#isStopped = true;
  }

  #turn(): void {
    this.#longestMs = Math.max(this.#longestMs, cpuMs(this.#last));
    this.#last = process.threadCpuUsage();
    if (!this.#isStopped) setImmediate(() => this.#turn());
  }
}

/** CPU time of this thread since `since`, in milliseconds. */
export function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1000;
}
