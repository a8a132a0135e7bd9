/** The usage of the disks of a simulated node. It follows from the containers, dead ones too, the volumes and the images. */
import type { FileSystemLayout } from '../../agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../agent/policies/eviction/signals.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';
import type { SimulatedDisk } from '../node/simulated-disk.ts';
import { drawn, drawnGrowth, grown, type KeyedRandom, type UseHabits } from './growth.ts';
import { type DiskUse, type RunningTruth, type StorageUse, sumOf } from './node-use.ts';

const MI = 2 ** 20;
/** What counts for a pod or volume without a request or limit. */
const LEAST_BYTES = 64 * MI;
/** Disks fill slowly. */
const HABITS: DiskHabits = {
  layer: { shares: [0.05, 0.1, 0.3, 0.8], growing: 0.5, maxPerMs: MI / 1000 },
  logs: { shares: [0.01, 0.05, 0.2], growing: 0.2, maxPerMs: MI / 2000 },
  volume: { shares: [0.05, 0.1, 0.3, 0.8, 1.2], growing: 0.5, maxPerMs: MI / 1000 },
};
/** How large files are on average. */
const FILE_BYTES = [4096, 16_384, 65_536, MI];
const IMAGE_BYTES = [100 * MI, 200 * MI, 400 * MI, 600 * MI];

/** Of those who write to the writable layers and logs of containers, and to `emptyDir` volumes. In bytes. */
export type DiskHabits = Readonly<Record<Kind, UseHabits>>;

type Kind = 'layer' | 'logs' | 'volume';

export interface DiskSizes {
  /** By default half of all writers go on to write. */
  readonly habits?: DiskHabits;
  readonly layout: FileSystemLayout;
  readonly nodeFs: DiskUse;
  /** The same file system as the node's, if images have none of their own. */
  readonly imageFs: DiskUse;
}

/** The local storage that a pod requests, in bytes; 0 if it requests none. */
export interface StorageWants {
  /** By name. */
  readonly containers: ReadonlyMap<string, number>;
  readonly volumes: ReadonlyMap<string, number>;
}

export interface SimulatedStorageOptions {
  readonly sizes: DiskSizes;
  readonly now: () => number;
  readonly random: KeyedRandom;
  readonly runtime: RunningTruth & { images(): readonly { readonly id: string; readonly size: number }[] };
  readonly disk: SimulatedDisk;
  readonly wantsOf: (uid: string) => StorageWants;
}

/** What lies on which file system. */
export interface FileSystems<T> {
  readonly nodeFs: T;
  readonly imageFs: T;
}

export class SimulatedStorage {
  readonly #options: SimulatedStorageOptions;

  constructor(options: SimulatedStorageOptions) {
    this.#options = options;
  }

  get sizes(): DiskSizes {
    return this.#options.sizes;
  }

  free(): FileSystems<DiskUse> {
    const { nodeFs, imageFs, layout } = this.#options.sizes;
    const { images, layers, others } = this.#contents();
    const { dedicatedImageFs, splitContainerFs } = layout;
    if (!dedicatedImageFs) {
      const free = without(nodeFs, sumOf([images, layers, others]));
      return { nodeFs: free, imageFs: free };
    }
    const onNodeFs = splitContainerFs ? [layers, others] : [others];
    const onImageFs = splitContainerFs ? [images] : [images, layers];
    return { nodeFs: without(nodeFs, sumOf(onNodeFs)), imageFs: without(imageFs, sumOf(onImageFs)) };
  }

  left(): ReadonlyMap<EvictionSignal, number> {
    const { nodeFs, imageFs } = this.free();
    return new Map([
      ['nodefs.available', nodeFs.bytes],
      ['nodefs.inodesFree', nodeFs.inodes],
      ['imagefs.available', imageFs.bytes],
      ['imagefs.inodesFree', imageFs.inodes],
    ]);
  }

  ofPod(uid: string): StorageUse {
    const running: ContainerTruth[] = [];
    const all: ContainerTruth[] = [];
    for (const { containers } of this.#sandboxesOf(uid)) {
      all.push(...containers);
      running.push(...containers.filter(({ state }) => state === 'CONTAINER_RUNNING'));
    }
    const logsOf = (wanted: string) =>
      sumOf(all.filter(({ metadata: { name } }) => name === wanted).map((one) => this.#written('logs', one)));
    const containers = running.map((container) => ({
      name: container.metadata.name,
      layer: this.#written('layer', container),
      logs: logsOf(container.metadata.name),
    }));
    const volumes = this.#volumesOf(uid);
    const logs = all.map((container) => this.#written('logs', container));
    const layers = containers.map(({ layer }) => layer);
    const whole = sumOf([...layers, ...logs, ...volumes.values()]);
    return { atMs: this.#options.now(), containers, volumes, whole };
  }

  #contents(): Readonly<Record<'images' | 'layers' | 'others', DiskUse>> {
    const { runtime, disk, random } = this.#options;
    const layers: DiskUse[] = [];
    const others: DiskUse[] = [];
    for (const uid of runtime.uids()) {
      for (const { containers } of this.#sandboxesOf(uid)) {
        for (const container of containers) {
          layers.push(this.#written('layer', container));
          others.push(this.#written('logs', container));
        }
      }
    }
    for (const uid of disk.keys()) others.push(...this.#volumesOf(uid).values());
    const images = runtime
      .images()
      .map(({ id, size }) => ({ bytes: size, inodes: inodesOf(size, random(`image/${id}/files`)) }));
    return { images: sumOf(images), layers: sumOf(layers), others: sumOf(others) };
  }

  /** What an instance of a container has on disk, running or dead. */
  #written(
    kind: 'layer' | 'logs',
    { uid, metadata: { name }, startedAt, finishedAt }: ContainerTruth,
  ): DiskUse {
    if (startedAt === 0) return { bytes: 0, inodes: 1 };
    const wanted = this.#options.wantsOf(uid).containers.get(name) ?? 0;
    const untilMs = finishedAt === 0 ? this.#options.now() : finishedAt;
    return this.#grown(kind, `${kind}/${uid}/${name}`, { wanted, forMs: untilMs - startedAt });
  }

  /** Volumes fill from the time they are mounted until they are released. */
  #volumesOf(uid: string): ReadonlyMap<string, DiskUse> {
    const { disk, wantsOf, now } = this.#options;
    const { mounted = false, mountedAt = 0 } = disk.get(uid) ?? {};
    const used = new Map<string, DiskUse>();
    if (!mounted) return used;
    const forMs = now() - mountedAt;
    for (const [name, wanted] of wantsOf(uid).volumes)
      used.set(name, this.#grown('volume', `volume/${uid}/${name}`, { wanted, forMs }));
    return used;
  }

  #grown(kind: Kind, key: string, { wanted, forMs }: { wanted: number; forMs: number }): DiskUse {
    const { random, sizes } = this.#options;
    const { shares, ...rate } = (sizes.habits ?? HABITS)[kind];
    const share = drawn(shares, random(key)) ?? 1;
    const atStart = share * Math.max(LEAST_BYTES, wanted);
    const bytes = grown(drawnGrowth(random, key, { atStart, ...rate }), forMs);
    return { bytes, inodes: inodesOf(bytes, random(`${key}/files`)) };
  }

  #sandboxesOf(uid: string): Iterable<SandboxTruth> {
    return this.#options.runtime.sandboxesOf(uid);
  }
}

/** The size of an image, by its name. */
export function drawnImageBytes(random: KeyedRandom): (image: string) => number {
  return (image) => drawn(IMAGE_BYTES, random(`image/${image}`)) ?? 0;
}

function inodesOf(bytes: number, chance: number): number {
  return 1 + Math.floor(bytes / (drawn(FILE_BYTES, chance) ?? MI));
}

function without({ bytes, inodes }: DiskUse, used: DiskUse): DiskUse {
  return { bytes: Math.max(0, bytes - used.bytes), inodes: Math.max(0, inodes - used.inodes) };
}
