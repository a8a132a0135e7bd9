import { kindOfFiles, type Volume } from '../../policies/volumes/volume-source.ts';
import type { Stopwatch, VolumeMeasurements } from '../../../types/measurements.ts';

interface MeteredVolume {
  /** Its kind, by the kubelet's name. */
  readonly plugin: string;
  readonly isBlock: boolean;
}

/** Measures what the kubelet counts as mounting and unmounting a volume. Without measurements it does nothing. */
export class VolumeMeter {
  readonly #measurements: VolumeMeasurements | undefined;
  /** The kinds of the volumes that are mounted, by the UIDs of pods and the names of the volumes. */
  readonly #mounted = new Map<string, Map<string, MeteredVolume>>();
  /** The volumes that have not been mounted yet. */
  readonly #wanted = new Map<string, Map<string, Stopwatch>>();

  constructor(measurements: VolumeMeasurements | undefined) {
    this.#measurements = measurements;
  }

  /** Undefined where the volume is mounted already. */
  mounting(uid: string, volume: Volume, metered: MeteredVolume): Stopwatch | undefined {
    if (this.#measurements === undefined) return undefined;
    const { plugin, isBlock } = metered;
    const mounted = this.#mounted.get(uid) ?? new Map<string, MeteredVolume>();
    if (mounted.has(volume.name) && kindOfFiles(volume) === undefined) return undefined;
    const end = this.#measurements.volumeOperation(isBlock ? 'map_volume' : 'volume_mount', plugin);
    const wanted = this.#wanted.get(uid) ?? new Map<string, Stopwatch>();
    if (!mounted.has(volume.name) && !wanted.has(volume.name))
      this.#wanted.set(uid, wanted.set(volume.name, this.#measurements.volumeWanted(plugin)));
    return (outcome) => {
      end(outcome);
      if (outcome === 'failure') return;
      this.#mounted.set(uid, mounted.set(volume.name, metered));
      wanted.get(volume.name)?.();
      wanted.delete(volume.name);
    };
  }

  /** All volumes of the pod are unmounted in one go: each of them takes as long as all. */
  unmounting(uid: string): Stopwatch | undefined {
    this.#wanted.delete(uid);
    const mounted = this.#mounted.get(uid);
    if (mounted === undefined) return undefined;
    const ends = [...mounted.values()].flatMap(
      ({ plugin, isBlock }) =>
        this.#measurements?.volumeOperation(isBlock ? 'unmap_volume' : 'volume_unmount', plugin) ?? [],
    );
    return (outcome) => {
      if (outcome !== 'failure') this.#mounted.delete(uid);
      for (const end of ends) end(outcome);
    };
  }
}
