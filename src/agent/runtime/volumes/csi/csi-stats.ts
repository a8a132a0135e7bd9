import type { FsStats } from '../../../../types/stats.ts';
import type { Clock } from '../../../../types/clock.ts';
import type { CsiDriverRegistry } from './csi-driver-registry.ts';
import type { CsiVolumeKey } from './vol-data.ts';

/** As often as the kubelet asks, since the call may be expensive for the driver. */
const KEPT_MS = 60_000;

interface KeptFigures {
  readonly atMs: number;
  readonly figures: Promise<Required<FsStats> | undefined>;
}

/** The figures that drivers have of their volumes. */
export class CsiStats {
  readonly #clock: Clock;
  readonly #drivers: CsiDriverRegistry;
  /** By the path of the volume. */
  readonly #kept = new Map<string, KeptFigures>();

  constructor(clock: Clock, drivers: CsiDriverRegistry) {
    this.#clock = clock;
    this.#drivers = drivers;
  }

  /** Undefined if the driver has no figures. Rejects if the call fails, or the driver is not registered. */
  of({ driver, handle }: CsiVolumeKey, path: string): Promise<Required<FsStats> | undefined> {
    const nowMs = this.#clock.now();
    for (const [known, { atMs }] of this.#kept) if (nowMs - atMs >= KEPT_MS) this.#kept.delete(known);
    const kept = this.#kept.get(path);
    if (kept) return kept.figures;
    const figures = this.#ask({ driver, handle }, path);
    this.#kept.set(path, { atMs: nowMs, figures });
    return figures;
  }

  async #ask({ driver, handle }: CsiVolumeKey, path: string): Promise<Required<FsStats> | undefined> {
    const time = new Date(this.#clock.now()).toISOString();
    const figures = await this.#drivers
      .get(driver, 'failed to get the figures of a volume')
      .stats(handle, path);
    return figures && { time, ...figures };
  }
}
