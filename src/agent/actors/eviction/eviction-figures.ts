/** The figures of the node by which eviction decides, and its settings. These depend on the file systems of the node. */
import {
  type FileSystemLayout,
  withContainerFsThresholds,
} from '../../policies/eviction/file-system-parts.ts';
import { isMemoryThreshold } from '../../policies/eviction/measurement-schedule.ts';
import { wholeQuantity } from '../../policies/eviction/observations.ts';
import type { EvictionSettings } from '../../policies/eviction/pass.ts';
import { pressureSource, waitedPercent } from '../../policies/eviction/pressure-settings.ts';
import { isPressureSignal, type MemorySignal } from '../../policies/eviction/signals.ts';
import { type Threshold, thresholdQuantity } from '../../policies/eviction/thresholds.ts';
import { quantityValue } from '../../policies/formats/quantity.ts';
import type { MemoryThreshold } from '../../runtime/stats/memory-watch.ts';
import type { DiskLayout } from '../../runtime/stats/disks/node-disks.ts';
import type { PressureCrossing, PressureThreshold } from '../../runtime/stats/pressure-watch.ts';
import type { SummaryOptions } from '../../runtime/stats/stats-provider.ts';
import { unlessAborted } from '../../../system/promises.ts';
import type { Summary } from '../../../types/stats.ts';

export interface EvictionStats {
  summary(options?: SummaryOptions): Promise<Summary>;
  /** Rejects if the runtime does not answer. */
  diskLayout(): Promise<DiskLayout>;
  /** Calls back when less than one of the thresholds is available, and when it is not less any more. */
  watchMemory(
    thresholds: readonly MemoryThreshold[],
    onCrossed: (crossing: { readonly isBelow: boolean }) => void,
  ): { stop(): void };
  /** Calls back when tasks wait longer than one of the thresholds allows, and when they do not any more. */
  watchPressure(
    thresholds: readonly PressureThreshold[],
    onCrossed: (crossing: Pick<PressureCrossing, 'isAbove' | 'resource'>) => void,
  ): { stop(): void };
  memoryAvailable(signal: MemorySignal): { readonly capacityBytes: number } | undefined;
}

/** The parts of a node that eviction works with. */
export interface EvictionParts {
  readonly configuration: Omit<EvictionSettings, 'layout'>;
  /** Opened when eviction begins. */
  readonly stats: () => Promise<EvictionStats>;
}

const ONE_FILE_SYSTEM: DiskLayout = { dedicatedImageFs: false, dedicatedContainerFs: false };

export class EvictionFigures {
  readonly #parts: EvictionParts;
  #stats: EvictionStats | undefined;
  /** Those of a node with one disk, until the runtime has said which disks there are. */
  #settings: EvictionSettings;
  #isLayoutKnown = false;
  #asked: Promise<void> | undefined;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
    this.#settings = settingsFor(parts.configuration, ONE_FILE_SYSTEM);
  }

  /** If they cannot be opened, the next call tries again. */
  async stats(): Promise<EvictionStats> {
    return (this.#stats ??= await this.#parts.stats());
  }

  /** The thresholds are the same objects each time, except those of `containerfs`, which change once the disks are known. */
  get settings(): EvictionSettings {
    return this.#settings;
  }

  /** Asks the runtime which disks there are, unless it has answered before. Resolves when it has answered or failed, or `hurried` aborts. */
  async learnLayout(hurried?: AbortSignal): Promise<void> {
    if (this.#isLayoutKnown || hurried?.aborted === true) return;
    this.#asked ??= this.#askLayout().finally(() => (this.#asked = undefined));
    await (hurried === undefined ? this.#asked : unlessAborted(this.#asked, hurried).catch(() => undefined));
  }

  /** In bytes. Without such thresholds the figures are not opened. */
  async memoryThresholds(): Promise<readonly MemoryThreshold[]> {
    const thresholds = this.#parts.configuration.thresholds.filter(isMemoryThreshold);
    if (thresholds.length === 0) return [];
    const stats = await this.stats();
    return thresholds.flatMap((threshold) => inBytes(threshold, stats));
  }

  pressureThresholds(): readonly PressureThreshold[] {
    return this.#parts.configuration.thresholds.flatMap(ofPressure);
  }

  async #askLayout(): Promise<void> {
    try {
      const layout = await (await this.stats()).diskLayout();
      this.#settings = settingsFor(this.#parts.configuration, layout);
      this.#isLayoutKnown = true;
    } catch {
      // The next measurement asks again.
    }
  }
}

function settingsFor(configuration: EvictionParts['configuration'], disks: DiskLayout): EvictionSettings {
  const layout: FileSystemLayout = {
    dedicatedImageFs: disks.dedicatedImageFs,
    splitContainerFs: disks.dedicatedContainerFs,
  };
  return { ...configuration, layout, ...withContainerFsThresholds(configuration.thresholds, layout) };
}

function inBytes(
  { signal, value }: Threshold & { readonly signal: MemorySignal },
  stats: EvictionStats,
): readonly MemoryThreshold[] {
  const capacity = stats.memoryAvailable(signal)?.capacityBytes;
  if (capacity === undefined) return [];
  const quantity = thresholdQuantity(value, wholeQuantity(BigInt(Math.trunc(capacity)), 'BinarySI'));
  return [{ signal, thresholdBytes: Number(quantityValue(quantity)) }];
}

function ofPressure({ signal, value }: Threshold): readonly PressureThreshold[] {
  if (!isPressureSignal(signal) || !('quantity' in value)) return [];
  return [{ ...pressureSource(signal), percent: waitedPercent(value.quantity) }];
}
