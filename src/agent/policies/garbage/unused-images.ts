/** Which images are garbage, by the rules of the kubelet: by disk usage, from a high threshold to a low one, and by age. */
import type { Container, Image } from '../../../types/cri.ts';

export interface ImageGCPolicy {
  /** From this disk usage on images are removed, until it is `lowThresholdPercent`. */
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  /** An image is kept until it was first seen this long ago. */
  readonly minAgeMs: number;
  /** An image that has not been used for longer than this is removed; 0: no limit. */
  readonly maxAgeMs: number;
}

/** What is remembered about an image. Times are Unix milliseconds. */
export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: number;
  /** 0 for an image that was found at the agent's first check. */
  readonly firstDetected: number;
  /** 0 for an image that has never been seen in use. */
  readonly lastUsed: number;
  /** A container has it, dead or alive, or it must be kept for another reason. */
  readonly inUse: boolean;
}

export interface ImageFacts {
  readonly images: readonly Image[];
  /** All containers, in every state. */
  readonly containers: readonly Container[];
  /** The runtime's references of the images that containers mount as volumes. */
  readonly mountedImages?: readonly string[];
}

/** The records of the present images. `before`: the records of the last check, undefined the first time. */
export function detectImages(
  before: ReadonlyMap<string, ImageRecord> | undefined,
  { images, containers, mountedImages = [] }: ImageFacts,
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
        inUse: isUsed || image.pinned === true || isSandboxImage(image),
      };
      return [image.id, record] as const;
    }),
  );
}

/** The images that may be removed to free disk space: those that have not been used for the longest time first. */
export function evictionOrder(
  records: Iterable<ImageRecord>,
  now: number,
  { minAgeMs }: Pick<ImageGCPolicy, 'minAgeMs'>,
): readonly ImageRecord[] {
  return [...records]
    .filter(({ inUse, firstDetected }) => !inUse && now - firstDetected >= minAgeMs)
    .sort((a, b) => a.lastUsed - b.lastUsed || a.firstDetected - b.firstDetected);
}

/** Whether the image is removed because it is unused for too long. Time before `beganAt`, the first check, does not count. */
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

/** Not every runtime pins the image of its sandboxes, and no list shows which image a sandbox uses. */
function isSandboxImage(image: Image): boolean {
  return image.repoTags.some((tag) => /(?:^|\/)pause(?:-\w+)?:/u.test(tag));
}
