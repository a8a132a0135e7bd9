/** Which parts of a pod lie on the file system that is short, and what can be removed from it before any pod is evicted. */
import type { EvictionSignal } from './signals.ts';
import { isHardThreshold, type Threshold } from './thresholds.ts';

/** Which file systems the node has for images and containers. */
export interface FileSystemLayout {
  /** Images have a file system of their own. */
  readonly dedicatedImageFs: boolean;
  /** The writable layers of containers lie on the node's file system, not with the images. */
  readonly splitContainerFs: boolean;
}

/** Parts of a pod's disk usage. `images` belong to no pod and are not counted. */
export type PodFsPart = 'images' | 'root' | 'logs' | 'localVolumeSource';

/** What is removed before pods: dead containers, unused images. */
export type NodeReclaim = 'containers' | 'images';

interface OnFileSystem {
  readonly parts: readonly PodFsPart[];
  readonly reclaim: readonly NodeReclaim[];
}

type FileSystem = 'nodefs' | 'imagefs' | 'containerfs';
type Contents = Readonly<Record<FileSystem, OnFileSystem>>;

const ALL: OnFileSystem = {
  parts: ['images', 'root', 'logs', 'localVolumeSource'],
  reclaim: ['containers', 'images'],
};
const WITH_IMAGES: OnFileSystem = { parts: ['root', 'images'], reclaim: ['containers', 'images'] };
const WITH_VOLUMES: OnFileSystem = {
  parts: ['logs', 'localVolumeSource', 'root'],
  reclaim: ['containers'],
};

const ONE_FOR_ALL: Contents = { nodefs: ALL, imagefs: ALL, containerfs: ALL };
const LAYERS_WITH_IMAGES: Contents = {
  nodefs: { parts: ['logs', 'localVolumeSource'], reclaim: [] },
  imagefs: WITH_IMAGES,
  containerfs: WITH_IMAGES,
};
const LAYERS_WITH_VOLUMES: Contents = {
  nodefs: WITH_VOLUMES,
  imagefs: { parts: ['images'], reclaim: ['images'] },
  containerfs: WITH_VOLUMES,
};

/** The parts of a pod that count for the signal; none for a signal that is not about a file system. */
export function podFsParts(signal: EvictionSignal, layout: FileSystemLayout): readonly PodFsPart[] {
  return contentsFor(signal, layout)?.parts ?? [];
}

/** In the order in which they are removed. */
export function nodeReclaims(signal: EvictionSignal, layout: FileSystemLayout): readonly NodeReclaim[] {
  return contentsFor(signal, layout)?.reclaim ?? [];
}

function contentsFor(signal: EvictionSignal, layout: FileSystemLayout): OnFileSystem | undefined {
  const [fileSystem = ''] = signal.split('.');
  const contents = contentsOf(layout);
  return Object.hasOwn(contents, fileSystem) ? contents[fileSystem as FileSystem] : undefined;
}

function contentsOf({ dedicatedImageFs, splitContainerFs }: FileSystemLayout): Contents {
  if (!dedicatedImageFs) return ONE_FOR_ALL;
  return splitContainerFs ? LAYERS_WITH_VOLUMES : LAYERS_WITH_IMAGES;
}

// Thresholds of the file system that holds the writable layers of containers. They cannot be set: they are those of the file system that
// also holds the layers, the node's or that of images.

type ContainerFsSignal = 'containerfs.available' | 'containerfs.inodesFree';

interface Place {
  readonly signal: ContainerFsSignal;
  readonly hard: boolean;
}

const PLACES: readonly Place[] = [
  { signal: 'containerfs.available', hard: true },
  { signal: 'containerfs.available', hard: false },
  { signal: 'containerfs.inodesFree', hard: true },
  { signal: 'containerfs.inodesFree', hard: false },
];

export interface ContainerFsThresholds {
  /** All, in their order; new ones come last. */
  readonly thresholds: readonly Threshold[];
  /** Thresholds of the settings that are for containerfs; they are ignored. */
  readonly ignored: readonly Threshold[];
}

export function withContainerFsThresholds(
  thresholds: readonly Threshold[],
  layout: FileSystemLayout,
): ContainerFsThresholds {
  const ignored = thresholds.filter(({ signal }) => signal.startsWith('containerfs.'));
  // The runtime contradicts itself: layers apart from the images, and no file system for images.
  if (layout.splitContainerFs && !layout.dedicatedImageFs) return { thresholds, ignored };
  const derived = new Map(PLACES.map((place) => [place, derivedFor(place, thresholds, layout)]));
  const kept = thresholds.flatMap((threshold) => {
    const place = placeOf(threshold);
    return place === undefined ? [threshold] : (derived.get(place) ?? []);
  });
  const taken = new Set(ignored.map(placeOf));
  const added = PLACES.filter((place) => !taken.has(place)).flatMap((place) => derived.get(place) ?? []);
  return { thresholds: [...kept, ...added], ignored };
}

/** In the kubelet's words. */
export function ignoredContainerFs(threshold: Threshold): string {
  const kind = isHardThreshold(threshold) ? 'hard' : 'soft';
  return `found ${threshold.signal} for ${kind} eviction. ignoring`;
}

function placeOf(threshold: Threshold): Place | undefined {
  return PLACES.find(
    ({ signal, hard }) => signal === threshold.signal && hard === isHardThreshold(threshold),
  );
}

function derivedFor(
  { signal, hard }: Place,
  thresholds: readonly Threshold[],
  layout: FileSystemLayout,
): Threshold[] {
  const source = sourceOf(signal, layout);
  const same = thresholds.findLast(
    (threshold) => threshold.signal === source && isHardThreshold(threshold) === hard,
  );
  return same === undefined ? [] : [{ ...same, signal }];
}

function sourceOf(signal: ContainerFsSignal, layout: FileSystemLayout): EvictionSignal {
  const onImageFs = layout.dedicatedImageFs && !layout.splitContainerFs;
  if (signal === 'containerfs.available') return onImageFs ? 'imagefs.available' : 'nodefs.available';
  return onImageFs ? 'imagefs.inodesFree' : 'nodefs.inodesFree';
}
