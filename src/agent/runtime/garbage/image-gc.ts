import {
  detectImages,
  type DiskSpace,
  diskUsage,
  evictionOrder,
  type ImageGCPolicy,
  type ImageRecord,
  isPastMaxAge,
} from '../../policies/garbage/unused-images.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import { OneAtATime, NEVER_ABORTED } from '../../../system/promises.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

export interface ImageGCParts extends ImageGCPolicy {
  readonly runtime: Pick<RuntimeService, 'listImages' | 'listContainers' | 'removeImage' | 'imageFsInfo'>;
  readonly statfs: (path: string) => Promise<DiskSpace>;
  /** The runtime's ids of images that containers mount as volumes: the runtime's list of containers does not contain them. */
  readonly mountedImages?: () => readonly string[];
  /** An image has been removed. */
  readonly onRemoved?: (imageId: string) => void;
  /** After each collection: the images that are left of those that there were at that time (Unix ms). */
  readonly onRemaining?: (imageIds: Iterable<string>, listedAt: number) => Promise<void>;
}

/** Removes unused images when their disk is too full, or when they are too old. */
export class ImageGC {
  readonly #context: AgentContext;
  readonly #parts: ImageGCParts;
  readonly #beganAt: number;
  #records: ReadonlyMap<string, ImageRecord> | undefined;
  /** There is one collection at a time. */
  readonly #turns = new OneAtATime();

  constructor(context: AgentContext, parts: ImageGCParts) {
    this.#context = context;
    this.#parts = parts;
    this.#beganAt = context.clock.now();
  }

  /** Whether the settings keep every image. */
  get isDisabled(): boolean {
    return this.#parts.highThresholdPercent === 100 && this.#parts.maxAgeMs === 0;
  }

  /** Records which images there are and which are in use. */
  detect(signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    return this.#turns.run(() => this.#detect(signal));
  }

  /** Rejects when too few images may be removed, or one cannot be removed. */
  collect(signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    return this.#turns.run(() => this.#reportingRemaining(() => this.#collect(signal)));
  }

  /** Removes all unused images, however full the disk is. Returns the bytes that were freed. */
  deleteUnusedImages(signal: AbortSignal = NEVER_ABORTED): Promise<number> {
    return this.#turns.run(() =>
      this.#reportingRemaining(async () => {
        await this.#detect(signal);
        return this.#free(Infinity, signal);
      }),
    );
  }

  /** `work` begins by listing the images. */
  async #reportingRemaining<T>(work: () => Promise<T>): Promise<T> {
    const listedAt = this.#context.clock.now();
    const before = this.#records;
    try {
      return await work();
    } finally {
      // Otherwise the images could not be listed.
      if (this.#records && this.#records !== before) {
        await this.#parts.onRemaining?.(this.#records.keys(), listedAt);
      }
    }
  }

  async #detect(signal: AbortSignal): Promise<void> {
    const { runtime, mountedImages } = this.#parts;
    const images = await runtime.listImages({ signal });
    const containers = await runtime.listContainers(undefined, { signal });
    const facts = { images, containers, mountedImages: mountedImages?.() };
    this.#records = detectImages(this.#records, facts, this.#context.clock.now());
  }

  async #collect(signal: AbortSignal): Promise<void> {
    await this.#detect(signal);
    await this.#removeOld(signal);
    const space = await this.#space(signal);
    const { usagePercent, bytesToFree } = diskUsage(space, this.#parts);
    if (bytesToFree === 0) return;
    this.#context.logger.info(
      { usagePercent, bytesToFree },
      `Disk usage on image filesystem is at ${usagePercent}%, over the high threshold of ` +
        `${this.#parts.highThresholdPercent}%: removing unused images`,
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
    const times = { now: this.#context.clock.now(), beganAt: this.#beganAt };
    const old = this.#evictable().filter((record) => isPastMaxAge(record, times, this.#parts));
    await this.#removeAll(old, Infinity, 'age', signal);
  }

  async #space(signal: AbortSignal): Promise<DiskSpace> {
    const { runtime, statfs } = this.#parts;
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
    return evictionOrder(this.#records?.values() ?? [], this.#context.clock.now(), this.#parts);
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
        this.#context.measurements?.images.imageCollected(reason);
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
    const { runtime, onRemoved } = this.#parts;
    this.#context.logger.info({ image: id, sizeBytes }, 'Removing unused image');
    await runtime.removeImage(id, { signal });
    const records = new Map(this.#records);
    records.delete(id);
    this.#records = records;
    onRemoved?.(id);
  }

  #problem(reason: string, message: string): StateletError {
    this.#context.recorder.nodeEvent('Warning', reason, message);
    return new StateletError('Internal', message);
  }
}
