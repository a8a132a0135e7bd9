/** Which images are garbage, by the rules of the kubelet: from a high threshold of disk usage down to a low one, and by age. */
import type { Container, Image } from '../../types/cri.ts';

export interface ImageGCPolicy {
  /** Disk usage from which on images are removed, and that down to which they are. */
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  /** An image that was first seen later than this long ago stays. */
  readonly minAgeMs: number;
  /** An image that has not been used for longer than this goes; 0: never for that. */
  readonly maxAgeMs: number;
}

/** What is remembered of an image. Unix milliseconds. */
export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: number;
  /** 0 for what was there before anybody looked. */
  readonly firstDetected: number;
  /** 0 where it has never been seen in use. */
  readonly lastUsed: number;
  /** Some container has it, dead ones included, or it must stay for another reason. */
  readonly inUse: boolean;
}

export interface ImageFacts {
  readonly images: readonly Image[];
  /** In every state. */
  readonly containers: readonly Container[];
  /** What the runtime calls the images that containers mount as volumes. */
  readonly mountedImages?: readonly string[];
  /** Of the sandboxes, where the runtime's configuration says it; otherwise whatever is called `pause` counts as one. */
  readonly sandboxImage?: string;
}

/** What is remembered after having looked; of images that are gone, nothing. `before` is undefined the first time. */
export function detectImages(
  before: ReadonlyMap<string, ImageRecord> | undefined,
  { images, containers, mountedImages = [], sandboxImage }: ImageFacts,
  now: number,
): ReadonlyMap<string, ImageRecord> {
  const ofContainers = containers.flatMap(({ image, imageRef, imageId = '' }) => [image, imageRef, imageId]);
  const used = new Set([...ofContainers, ...mountedImages]);
  return new Map(
    images.map((image) => {
      const old = before?.get(image.id);
      const isUsed = namesOf(image).some((name) => used.has(name));
      const record: ImageRecord = {
        id: image.id,
        sizeBytes: image.size,
        firstDetected: old?.firstDetected ?? (before === undefined ? 0 : now),
        lastUsed: isUsed ? now : (old?.lastUsed ?? 0),
        inUse: isUsed || image.pinned === true || isSandboxImage(image, sandboxImage),
      };
      return [image.id, record] as const;
    }),
  );
}

/** Images that may go to make room, in the order in which they do: the one that was used longest ago first. */
export function evictionOrder(
  records: Iterable<ImageRecord>,
  now: number,
  { minAgeMs }: Pick<ImageGCPolicy, 'minAgeMs'>,
): readonly ImageRecord[] {
  return [...records]
    .filter(({ inUse, firstDetected }) => !inUse && now - firstDetected >= minAgeMs)
    .sort((a, b) => a.lastUsed - b.lastUsed || a.firstDetected - b.firstDetected);
}

/** Whether it goes for its age alone. Before `beganAt` nobody looked: that time does not count. */
export function isPastMaxAge(
  { lastUsed, firstDetected }: ImageRecord,
  { now, beganAt }: { readonly now: number; readonly beganAt: number },
  { maxAgeMs }: Pick<ImageGCPolicy, 'maxAgeMs'>,
): boolean {
  return maxAgeMs > 0 && now - Math.max(lastUsed, firstDetected, beganAt) > maxAgeMs;
}

export interface DiskSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

export interface DiskUsage {
  readonly usagePercent: number;
  /** 0 below the high threshold. */
  readonly bytesToFree: number;
}

export function diskUsage(
  { capacityBytes, availableBytes }: DiskSpace,
  { highThresholdPercent, lowThresholdPercent }: Pick<ImageGCPolicy, `${'high' | 'low'}ThresholdPercent`>,
): DiskUsage {
  const available = Math.min(availableBytes, capacityBytes);
  const usagePercent = 100 - Math.floor((available * 100) / capacityBytes);
  const wanted = Math.floor((capacityBytes * (100 - lowThresholdPercent)) / 100);
  return {
    usagePercent,
    bytesToFree: usagePercent < highThresholdPercent ? 0 : Math.max(0, wanted - available),
  };
}

function namesOf({ id, repoTags, repoDigests = [] }: Image): readonly string[] {
  return [id, ...repoTags, ...repoDigests];
}

/** Not every runtime says so by pinning it, and no list shows which sandbox uses which image. */
function isSandboxImage(image: Image, sandboxImage: string | undefined): boolean {
  if (sandboxImage !== undefined) return namesOf(image).includes(sandboxImage);
  return image.repoTags.some((tag) => /(?:^|\/)pause(?:-\w+)?:/u.test(tag));
}
