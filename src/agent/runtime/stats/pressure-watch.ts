import { join } from 'node:path';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { PSIStats } from '../../../types/stats.ts';
import { OpenFile, pressureIn } from './small-files.ts';

/** How often the kernel updates its averages. */
const PERIOD_MS = 2000;

export interface PressureThreshold {
  readonly resource: 'memory' | 'io';
  /** `some`: at least one task had to wait; `full`: all tasks that were not idle. */
  readonly kind: keyof PSIStats;
  /** More than this percentage of the last ten seconds is pressure. */
  readonly percent: number;
}

export interface PressureCrossing extends PressureThreshold {
  readonly avg10: number;
  /** True if pressure begins, false if it ends. */
  readonly isAbove: boolean;
}

/**
 * Calls `onCrossed` when tasks begin to wait for a resource longer than a threshold allows, and when that ends. A value that
 * is above a threshold at the beginning counts as a crossing. Without PSI in the kernel there are no crossings.
 */
export class PressureWatch {
  readonly #thresholds: readonly PressureThreshold[];
  readonly #onCrossed: (crossing: PressureCrossing) => void;
  /** One open file for each resource that has a threshold. */
  readonly #files: ReadonlyMap<PressureThreshold['resource'], OpenFile>;
  readonly #above = new Set<PressureThreshold>();
  readonly #timer: Timer;
  #stopped = false;

  /** `folder`: `/proc/pressure`. */
  constructor(
    { clock }: AgentContext,
    folder: string,
    thresholds: readonly PressureThreshold[],
    onCrossed: (crossing: PressureCrossing) => void,
  ) {
    this.#thresholds = thresholds;
    this.#onCrossed = onCrossed;
    this.#timer = new Timer(clock);
    this.#files = new Map(thresholds.map(({ resource }) => [resource, new OpenFile(join(folder, resource))]));
    if (thresholds.length > 0) this.#check();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.disarm();
    for (const file of this.#files.values()) file.close();
  }

  #check(): void {
    this.#timer.arm(PERIOD_MS, () => this.#check());
    const readings = new Map([...this.#files].map(([resource, file]) => [resource, pressureIn(file.read())]));
    for (const threshold of this.#thresholds) {
      const avg10 = readings.get(threshold.resource)?.[threshold.kind]?.avg10;
      if (avg10 !== undefined) this.#judge(threshold, avg10);
    }
  }

  #judge(threshold: PressureThreshold, avg10: number): void {
    const isAbove = avg10 > threshold.percent;
    if (this.#stopped || isAbove === this.#above.has(threshold)) return;
    if (isAbove) this.#above.add(threshold);
    else this.#above.delete(threshold);
    this.#onCrossed({ ...threshold, avg10, isAbove });
  }
}
