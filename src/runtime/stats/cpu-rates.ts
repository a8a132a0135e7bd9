import type { CPUStats } from '../../types/stats.ts';

/** Over a shorter time, a rate says more about when it was asked for than about what is used. */
const SHORTEST_MS = 1000;
/** Who asks less often than that gets no rate: it would be of another age. */
const FORGOTTEN_AFTER_MS = 600_000;
const MS_PER_SECOND = 1000;

interface Sample {
  readonly usageNs: number;
  readonly atMs: number;
  readonly rate?: number;
}

/** Adds to what has been used of the CPU how much it is a second, over the time since the figures were last asked for. */
export class CpuRates {
  readonly #samples = new Map<string, Sample>();

  withRate(name: string, cpu: CPUStats | undefined, nowMs: number): CPUStats | undefined {
    if (cpu?.usageCoreNanoSeconds === undefined) return cpu;
    const usageNs = cpu.usageCoreNanoSeconds;
    const before = this.#samples.get(name);
    // A group that was made anew begins at nothing, and a clock that was set back at any time.
    const isFirst = before === undefined || usageNs < before.usageNs || nowMs < before.atMs;
    const elapsedMs = isFirst ? 0 : nowMs - before.atMs;
    const rate =
      !isFirst && elapsedMs >= SHORTEST_MS
        ? Math.round(((usageNs - before.usageNs) * MS_PER_SECOND) / elapsedMs)
        : undefined;
    if (isFirst) this.#samples.set(name, { usageNs, atMs: nowMs });
    else if (rate !== undefined) this.#samples.set(name, { usageNs, atMs: nowMs, rate });
    const usageNanoCores = rate ?? (isFirst ? undefined : before.rate);
    return { ...cpu, ...(usageNanoCores !== undefined && { usageNanoCores }) };
  }

  /** What was not asked for of late is gone, or will have to begin anew. */
  forgetOld(nowMs: number): void {
    for (const [name, { atMs }] of this.#samples) {
      if (nowMs - atMs > FORGOTTEN_AFTER_MS) this.#samples.delete(name);
    }
  }
}
