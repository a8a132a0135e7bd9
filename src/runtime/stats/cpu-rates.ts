import type { CPUStats } from '../../types/stats.ts';

/** A rate over a shorter time is not exact enough. */
const SHORTEST_MS = 1000;
/** A sample that is older is dropped: its rate would be out of date. */
const FORGOTTEN_AFTER_MS = 600_000;
const MS_PER_SECOND = 1000;

interface Sample {
  readonly usageNs: number;
  readonly atMs: number;
  readonly rate?: number;
}

/** Adds the rate to CPU figures: the usage a second since the figures were last asked for. */
export class CpuRates {
  readonly #samples = new Map<string, Sample>();

  withRate(name: string, cpu: CPUStats | undefined, nowMs: number): CPUStats | undefined {
    if (cpu?.usageCoreNanoSeconds === undefined) return cpu;
    const usageNs = cpu.usageCoreNanoSeconds;
    const before = this.#samples.get(name);
    // A group that was made again begins at zero. A clock may be set back.
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

  /** Drops the samples that have not been used for long. */
  forgetOld(nowMs: number): void {
    for (const [name, { atMs }] of this.#samples) {
      if (nowMs - atMs > FORGOTTEN_AFTER_MS) this.#samples.delete(name);
    }
  }
}
