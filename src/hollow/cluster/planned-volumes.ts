/** The PersistentVolumes of the plan's CSI drivers: how large they are, and what is used of them by plan. They outlive nodes. */
import type { Subscription } from 'rxjs';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { keyOf } from '../../agent/cluster/watches/object-store.ts';
import type { WatchContext } from '../../agent/cluster/watches/reflect.ts';
import type { CsiUsage } from '../../agent/policies/volumes/csi-figures.ts';
import { quantityOrZero, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { DriverVolumes } from '../../simulation/drivers/csi-driver-service.ts';
import {
  drawn,
  drawnGrowth,
  type Growth,
  grown,
  type KeyedRandom,
} from '../../simulation/resources/growth.ts';
import type { PersistentVolume } from '../../types/kubernetes.ts';
import type { ResourceUse } from '../plan/hollow-plan.ts';
import { followObjects } from './follow-objects.ts';

export interface PlannedVolumesParts {
  readonly api: ApiServer;
  /** Their names. */
  readonly drivers: readonly string[];
  readonly use: ResourceUse;
  readonly random: KeyedRandom;
}

interface KnownVolume {
  /** Of its file system, or of the block device. */
  bytes: number;
  /** Undefined for a block device: what a container writes there only the container knows. */
  readonly use: Growth | undefined;
  readonly sinceMs: number;
}

/** As mkfs.ext4 makes inodes. */
const BYTES_PER_INODE = 16 * 1024;
const BYTES_PER_FILE = 2 ** 20;

export class PlannedVolumes {
  readonly #context: WatchContext;
  readonly #parts: PlannedVolumesParts;
  readonly #watch: Subscription;
  /** By driver and handle. */
  readonly #known = new Map<string, KnownVolume>();
  /** The driver and handle of each PersistentVolume, by the key of that. */
  readonly #idOf = new Map<string, string>();

  constructor(context: WatchContext, parts: PlannedVolumesParts) {
    this.#context = context;
    this.#parts = parts;
    const drivers = new Set(parts.drivers);
    this.#watch = followObjects<PersistentVolume>(context, parts.api, 'persistentvolumes', {
      take: (volume) => {
        if (drivers.has(volume.spec?.csi?.driver ?? '')) this.#take(volume);
      },
      forget: (key) => this.#forget(key),
      known: () => this.#idOf.keys(),
    });
  }

  close(): void {
    this.#watch.unsubscribe();
  }

  /** As the driver of that name knows them. */
  of(driver: string): DriverVolumes {
    return {
      usage: (handle) => this.#usage(idOf(driver, handle)),
      expand: (handle, bytes) => {
        const volume = this.#known.get(idOf(driver, handle));
        if (volume) volume.bytes = Math.max(volume.bytes, bytes);
      },
    };
  }

  /** A file system does not grow with its volume: the node expands it. */
  #take(volume: PersistentVolume): void {
    const { csi, capacity, volumeMode } = volume.spec ?? {};
    const id = idOf(csi?.driver ?? '', csi?.volumeHandle ?? '');
    const bytes = Number(quantityValue(quantityOrZero(capacity?.storage)));
    this.#idOf.set(keyOf(volume), id);
    if (volumeMode === 'Block')
      this.#known.set(id, { bytes, use: undefined, sinceMs: this.#context.clock.now() });
    else if (!this.#known.has(id)) this.#addFileSystem(id, bytes);
  }

  #forget(key: string): void {
    this.#known.delete(this.#idOf.get(key) ?? '');
    this.#idOf.delete(key);
  }

  #addFileSystem(id: string, bytes: number): void {
    const { use, random } = this.#parts;
    const atStart = bytes * (drawn(use.uses, random(`volume/${id}`)) ?? 0);
    const { growing, bytesPerSecond } = use;
    this.#known.set(id, {
      bytes,
      use: drawnGrowth(random, `volume/${id}`, { atStart, growing, maxPerMs: bytesPerSecond / 1000 }),
      sinceMs: this.#context.clock.now(),
    });
  }

  #usage(id: string): readonly CsiUsage[] | undefined {
    const volume = this.#known.get(id);
    if (volume === undefined) return undefined;
    const { bytes, use, sinceMs } = volume;
    if (use === undefined) return [{ unit: 'BYTES', total: bytes, used: 0, available: 0 }];
    const used = Math.min(bytes, grown(use, this.#context.clock.now() - sinceMs));
    const inodes = Math.ceil(bytes / BYTES_PER_INODE);
    return [
      usageOf('BYTES', bytes, used),
      usageOf('INODES', inodes, Math.min(inodes, 1 + Math.floor(used / BYTES_PER_FILE))),
    ];
  }
}

const idOf = (driver: string, handle: string): string => `${driver}^${handle}`;

function usageOf(unit: CsiUsage['unit'], total: number, used: number): CsiUsage {
  return { unit, total, used, available: total - used };
}
