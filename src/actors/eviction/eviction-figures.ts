/** What eviction goes by: the figures of the node, and its settings once it is known how the node's disks lie. */
import { withContainerFsThresholds } from '../../policies/eviction/container-fs-thresholds.ts';
import type { FileSystemLayout } from '../../policies/eviction/file-system-parts.ts';
import { wholeQuantity } from '../../policies/eviction/observations.ts';
import type { EvictionSettings } from '../../policies/eviction/pass.ts';
import { pressureSource, waitedPercent } from '../../policies/eviction/pressure-settings.ts';
import { isPressureSignal } from '../../policies/eviction/signals.ts';
import { type Threshold, thresholdQuantity } from '../../policies/eviction/thresholds.ts';
import { quantityValue } from '../../policies/formats/quantity.ts';
import type { MemorySignal, MemoryThreshold } from '../../runtime/stats/memory-watch.ts';
import type { DiskLayout } from '../../runtime/stats/disks/node-disks.ts';
import type { PressureCrossing, PressureThreshold } from '../../runtime/stats/pressure-watch.ts';
import type { SummaryOptions } from '../../runtime/stats/stats-provider.ts';
import { unlessAborted } from '../../system/unless-aborted.ts';
import type { Summary } from '../../types/stats.ts';

export interface EvictionStats {
  summary(options?: SummaryOptions): Promise<Summary>;
  /** Rejects where the runtime does not say. */
  diskLayout(): Promise<DiskLayout>;
  /** Tells when less, or no longer less, than one of the thresholds is available. */
  watchMemory(
    thresholds: readonly MemoryThreshold[],
    onCrossed: (crossing: { readonly isBelow: boolean }) => void,
  ): { stop(): void };
  /** Tells when tasks wait longer, or no longer longer, than one of the thresholds allows. */
  watchPressure(
    thresholds: readonly PressureThreshold[],
    onCrossed: (crossing: Pick<PressureCrossing, 'isAbove' | 'resource'>) => void,
  ): { stop(): void };
  memoryAvailable(signal: MemorySignal): { readonly capacityBytes: number } | undefined;
}

/** What of a node eviction works with. */
export interface EvictionParts {
  readonly configuration: Omit<EvictionSettings, 'layout'>;
  /** Opened when eviction begins. */
  readonly stats: () => Promise<EvictionStats>;
}

const ONE_FILE_SYSTEM: DiskLayout = { dedicatedImageFs: false, dedicatedContainerFs: false };

export class EvictionFigures {
  readonly #parts: EvictionParts;
  #stats: EvictionStats | undefined;
  /** As if there were one disk, as long as the runtime does not say how they lie. */
  #settings: EvictionSettings;
  #isLayoutKnown = false;
  #asked: Promise<void> | undefined;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
    this.#settings = settingsFor(parts.configuration, ONE_FILE_SYSTEM);
  }

  /** What could not be opened is tried again when somebody asks again. */
  async stats(): Promise<EvictionStats> {
    return (this.#stats ??= await this.#parts.stats());
  }

  /** The thresholds are the same objects each time, but those that follow from how the disks lie once that is known. */
  get settings(): EvictionSettings {
    return this.#settings;
  }

  /** Asks how the disks lie, until that is known. Resolves when it is, or cannot be, or `hurried` aborts. */
  async learnLayout(hurried?: AbortSignal): Promise<void> {
    if (this.#isLayoutKnown || hurried?.aborted === true) return;
    this.#asked ??= this.#askLayout().finally(() => (this.#asked = undefined));
    // Whoever is hurried goes on without.
    await (hurried === undefined ? this.#asked : unlessAborted(this.#asked, hurried).catch(() => undefined));
  }

  /** In bytes. Where there are none, nothing is opened. */
  async memoryThresholds(): Promise<readonly MemoryThreshold[]> {
    const thresholds = this.#parts.configuration.thresholds.filter(isWatchedMemory);
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
      // Whoever looks next asks again.
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

type WatchedThreshold = Threshold & { readonly signal: MemorySignal };

export function isWatchedMemory(threshold: Threshold): threshold is WatchedThreshold {
  return threshold.signal === 'memory.available' || threshold.signal === 'allocatableMemory.available';
}

function inBytes({ signal, value }: WatchedThreshold, stats: EvictionStats): readonly MemoryThreshold[] {
  const capacity = stats.memoryAvailable(signal)?.capacityBytes;
  if (capacity === undefined) return [];
  const quantity = thresholdQuantity(value, wholeQuantity(BigInt(Math.trunc(capacity)), 'BinarySI'));
  return [{ signal, thresholdBytes: Number(quantityValue(quantity)) }];
}

function ofPressure({ signal, value }: Threshold): readonly PressureThreshold[] {
  if (!isPressureSignal(signal) || !('quantity' in value)) return [];
  return [{ ...pressureSource(signal), percent: waitedPercent(value.quantity) }];
}
