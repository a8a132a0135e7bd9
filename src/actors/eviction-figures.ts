/** What eviction goes by: the figures of the node, and its settings once it is known how the node's disks lie. */
import { withContainerFsThresholds } from '../policies/eviction-container-fs.ts';
import type { FileSystemLayout } from '../policies/eviction-file-systems.ts';
import { wholeQuantity } from '../policies/eviction-observations.ts';
import type { EvictionSettings } from '../policies/eviction-pass.ts';
import { pressureSource, waitedPercent } from '../policies/eviction-pressure.ts';
import { isPressureSignal } from '../policies/eviction-signals.ts';
import { type Threshold, thresholdQuantity } from '../policies/eviction-thresholds.ts';
import { quantityValue } from '../policies/quantity.ts';
import type { MemorySignal, MemoryThreshold } from '../runtime/stats/memory-watch.ts';
import type { DiskLayout } from '../runtime/stats/node-disks.ts';
import type { PressureThreshold } from '../runtime/stats/pressure-watch.ts';
import type { Summary } from '../types/stats.ts';

export interface EvictionStats {
  summary(options?: {
    readonly onlyNode?: boolean;
    readonly network?: boolean;
    readonly diskUsageMaxAgeMs?: number;
    readonly ioOverMs?: number;
  }): Promise<Summary>;
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
    onCrossed: (crossing: { readonly isAbove: boolean }) => void,
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
  #settings: EvictionSettings | undefined;
  /** By which it is judged as long as the runtime does not say how the disks lie. */
  readonly #provisional: EvictionSettings;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
    this.#provisional = settingsFor(parts.configuration, ONE_FILE_SYSTEM);
  }

  /** What could not be opened is tried again when somebody asks again. */
  async stats(): Promise<EvictionStats> {
    return (this.#stats ??= await this.#parts.stats());
  }

  /** The thresholds are the same objects each time, but those that follow from how the disks lie once that is known. */
  async settings(): Promise<EvictionSettings> {
    if (this.#settings !== undefined) return this.#settings;
    const layout = await (await this.stats()).diskLayout().catch(() => undefined);
    if (layout === undefined) return this.#provisional;
    return (this.#settings ??= settingsFor(this.#parts.configuration, layout));
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
