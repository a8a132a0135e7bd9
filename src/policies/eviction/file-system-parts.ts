/** Which parts of a pod lie on the file system that is short, and what can be removed from it before any pod is evicted. */
import type { EvictionSignal } from './signals.ts';

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
