/**
 * Thresholds of the file system that holds the writable layers of containers. They cannot be set: they are those of the file system that
 * also holds the layers, the node's or that of images.
 */
import type { FileSystemLayout } from './file-system-parts.ts';
import type { EvictionSignal } from './signals.ts';
import { isHardThreshold, type Threshold } from './thresholds.ts';

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
