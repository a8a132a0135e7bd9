import { join } from 'node:path';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import type { PSIStats } from '../../types/stats.ts';
import { pressureIn } from './kernel-text.ts';
import { HeldFile } from './small-files.ts';

/** The kernel works its averages out that often: whoever looks more often sees nothing new. */
const PERIOD_MS = 2000;

export interface PressureThreshold {
  readonly resource: 'memory' | 'io';
  /** Whether some tasks had to wait, or all that had anything to do. */
  readonly kind: keyof PSIStats;
  /** Of the last ten seconds. More than that is pressure. */
  readonly percent: number;
}

export interface PressureCrossing extends PressureThreshold {
  readonly avg10: number;
  /** Whether there is pressure from now on, or is none any more. */
  readonly isAbove: boolean;
}

export interface PressureWatchOptions {
  readonly thresholds: readonly PressureThreshold[];
  /** That of `/proc/pressure`. */
  readonly folder: string;
  readonly clock: Clock;
  readonly onCrossed: (crossing: PressureCrossing) => void;
}

/**
 * Tells when tasks of this machine wait longer for a resource than thresholds allow, and when they no longer do; what is
 * above one at the beginning has crossed it. A kernel that does not count it is never above any.
 */
export class PressureWatch {
  readonly #options: PressureWatchOptions;
  /** Open as long as the watch: one for each resource that a threshold is about. */
  readonly #files: ReadonlyMap<PressureThreshold['resource'], HeldFile>;
  readonly #above = new Set<PressureThreshold>();
  #timer: TimerHandle | undefined;
  #stopped = false;

  constructor(options: PressureWatchOptions) {
    this.#options = options;
    const { thresholds, folder } = options;
    this.#files = new Map(thresholds.map(({ resource }) => [resource, new HeldFile(join(folder, resource))]));
    if (thresholds.length > 0) this.#look();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    for (const file of this.#files.values()) file.close();
  }

  #look(): void {
    const { thresholds, clock } = this.#options;
    this.#timer = clock.setTimeout(() => this.#look(), PERIOD_MS);
    const readings = new Map([...this.#files].map(([resource, file]) => [resource, pressureIn(file.read())]));
    for (const threshold of thresholds) {
      const avg10 = readings.get(threshold.resource)?.[threshold.kind]?.avg10;
      if (avg10 !== undefined) this.#judge(threshold, avg10);
    }
  }

  #judge(threshold: PressureThreshold, avg10: number): void {
    const isAbove = avg10 > threshold.percent;
    if (this.#stopped || isAbove === this.#above.has(threshold)) return;
    if (isAbove) this.#above.add(threshold);
    else this.#above.delete(threshold);
    this.#options.onCrossed({ ...threshold, avg10, isAbove });
  }
}
