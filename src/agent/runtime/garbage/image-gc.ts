import {
  detectImages,
  type DiskSpace,
  diskUsage,
  evictionOrder,
  type ImageGCPolicy,
  type ImageRecord,
  isPastMaxAge,
} from '../../policies/garbage/unused-images.ts';
import type { Clock } from '../../../types/clock.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { NodeEventRecorder } from '../../../types/event-recorder.ts';
import type { ImageMeasurements } from '../../../types/measurements.ts';
import type { Logger } from '../../../types/logger.ts';
import { OneAtATime } from '../../../system/promises.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

export interface ImageGCOptions extends ImageGCPolicy {
  readonly runtime: Pick<RuntimeService, 'listImages' | 'listContainers' | 'removeImage' | 'imageFsInfo'>;
  readonly clock: Clock;
  readonly recorder: NodeEventRecorder;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly statfs: (path: string) => Promise<DiskSpace>;
  /** The runtime's ids of images that containers mount as volumes: the runtime's list of containers does not contain them. */
  readonly mountedImages?: () => readonly string[];
  /** The sandbox image in the runtime's configuration: for runtimes that do not pin it. */
  readonly sandboxImage?: string;
  readonly measurements?: Pick<ImageMeasurements, 'imageCollected'>;
  /** An image has been removed. */
  readonly onRemoved?: (imageId: string) => void;
  /** After each collection: the images that are left of those that there were at that time (Unix ms). */
  readonly onRemaining?: (imageIds: Iterable<string>, listedAt: number) => Promise<void>;
}

/** Removes unused images when their disk is too full, or when they are too old. */
export class ImageGC {
  readonly #options: ImageGCOptions;
  readonly #beganAt: number;
  #records: ReadonlyMap<string, ImageRecord> | undefined;
  /** There is one collection at a time. */
  readonly #turns = new OneAtATime();

  constructor(options: ImageGCOptions) {
    this.#options = options;
    this.#beganAt = options.clock.now();
  }

  /** No image would ever be removed. */
  get isDisabled(): boolean {
    return this.#options.highThresholdPercent === 100 && this.#options.maxAgeMs === 0;
  }

  /** Records which images there are and which are in use. */
  detect(signal: AbortSignal = NEVER): Promise<void> {
    return this.#turns.run(() => this.#detect(signal));
  }

  /** Rejects when too few images may be removed, or one cannot be removed. */
  collect(signal: AbortSignal = NEVER): Promise<void> {
    return this.#turns.run(() => this.#telling(() => this.#collect(signal)));
  }

  /** Removes all unused images, however full the disk is. Returns the bytes that were freed. */
  deleteUnusedImages(signal: AbortSignal = NEVER): Promise<number> {
    return this.#turns.run(() =>
      this.#telling(async () => {
        await this.#detect(signal);
        return this.#free(Infinity, signal);
      }),
    );
  }

  /** `work` begins by listing the images. */
  async #telling<T>(work: () => Promise<T>): Promise<T> {
    const listedAt = this.#options.clock.now();
    const before = this.#records;
    try {
      return await work();
    } finally {
      // Otherwise the images could not be listed.
      if (this.#records && this.#records !== before) {
        await this.#options.onRemaining?.(this.#records.keys(), listedAt);
      }
    }
  }

  async #detect(signal: AbortSignal): Promise<void> {
    const { runtime, clock, sandboxImage } = this.#options;
    const images = await runtime.listImages({ signal });
    const containers = await runtime.listContainers(undefined, { signal });
    const mountedImages = this.#options.mountedImages?.() ?? [];
    const facts = { images, containers, mountedImages, ...(sandboxImage !== undefined && { sandboxImage }) };
    this.#records = detectImages(this.#records, facts, clock.now());
  }

  async #collect(signal: AbortSignal): Promise<void> {
    await this.#detect(signal);
    await this.#removeOld(signal);
    const space = await this.#space(signal);
    const { usagePercent, bytesToFree } = diskUsage(space, this.#options);
    if (bytesToFree === 0) return;
    this.#options.logger.info(
      { usagePercent, bytesToFree },
      `Disk usage on image filesystem is at ${usagePercent}%, over the high threshold of ` +
        `${this.#options.highThresholdPercent}%: removing unused images`,
    );
    const freed = await this.#free(bytesToFree, signal);
    if (freed < bytesToFree) {
      throw this.#problem(
        'FreeDiskSpaceFailed',
        `Failed to garbage collect required amount of images. Attempted to free ${bytesToFree} bytes, ` +
          `but only found ${freed} bytes eligible to free.`,
      );
    }
  }

  async #removeOld(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const times = { now: clock.now(), beganAt: this.#beganAt };
    const old = this.#evictable().filter((record) => isPastMaxAge(record, times, this.#options));
    await this.#removeAll(old, Infinity, 'age', signal);
  }

  async #space(signal: AbortSignal): Promise<DiskSpace> {
    const { runtime, statfs } = this.#options;
    const [filesystem] = await runtime.imageFsInfo({ signal });
    if (filesystem === undefined) {
      throw new StateletError('Internal', 'the runtime does not say where it keeps images');
    }
    const space = await statfs(filesystem.mountpoint);
    if (space.capacityBytes > 0) return space;
    throw this.#problem('InvalidDiskCapacity', 'invalid capacity 0 on image filesystem');
  }

  #free(bytes: number, signal: AbortSignal): Promise<number> {
    return this.#removeAll(this.#evictable(), bytes, 'space', signal);
  }

  #evictable(): readonly ImageRecord[] {
    return evictionOrder(this.#records?.values() ?? [], this.#options.clock.now(), this.#options);
  }

  /** Removes images in that order until `bytes` are free. Where one cannot be removed it goes on, and rejects in the end. */
  async #removeAll(
    records: readonly ImageRecord[],
    bytes: number,
    reason: 'age' | 'space',
    signal: AbortSignal,
  ): Promise<number> {
    const errors: unknown[] = [];
    let freed = 0;
    for (const record of records) {
      if (freed >= bytes) break;
      signal.throwIfAborted();
      try {
        await this.#remove(record, signal);
        this.#options.measurements?.imageCollected(reason);
        freed += record.sizeBytes;
      } catch (error) {
        signal.throwIfAborted();
        errors.push(error);
      }
    }
    if (errors.length === 0) return freed;
    const wanted = Number.isFinite(bytes) ? `wanted to free ${bytes} bytes, but ` : '';
    const reasons = errors.map(errorMessage).join(', ');
    throw new StateletError(
      'Internal',
      `${wanted}freed ${freed} bytes with errors in image deletion: ${reasons}`,
    );
  }

  async #remove({ id, sizeBytes }: ImageRecord, signal: AbortSignal): Promise<void> {
    const { runtime, logger, onRemoved } = this.#options;
    logger.info({ image: id, sizeBytes }, 'Removing unused image');
    await runtime.removeImage(id, { signal });
    const records = new Map(this.#records);
    records.delete(id);
    this.#records = records;
    onRemoved?.(id);
  }

  #problem(reason: string, message: string): StateletError {
    this.#options.recorder.nodeEvent('Warning', reason, message);
    return new StateletError('Internal', message);
  }
}

const NEVER = new AbortController().signal;
