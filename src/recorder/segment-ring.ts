/**
 * Files of a folder to which text is appended, `000001.jsonl` and so on. When one is full the next one begins; the oldest ones are
 * deleted so that all of them together keep to a size.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../system/make-folder.ts';
import { ifThere } from '../system/system-errors.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const SEGMENT = /^\d{6,}\.jsonl$/u;
/** Into at least how many segments the size is divided: so much of the record is lost when the oldest one is deleted. */
const SEGMENTS = 16;
/** The names of a segment are kept in memory. */
const SEGMENT_MAX = 4 * 2 ** 20;
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

interface OpenSegment {
  readonly number: number;
  readonly handle: FileHandle;
  bytes: number;
}

export class SegmentRing {
  readonly #folder: string;
  readonly #sizeBytes: number;
  readonly #segmentBytes: number;
  #segment: OpenSegment | undefined;

  constructor(folder: string, sizeBytes: number) {
    this.#folder = folder;
    this.#sizeBytes = sizeBytes;
    this.#segmentBytes = Math.min(SEGMENT_MAX, Math.floor(sizeBytes / SEGMENTS));
  }

  /** How much may be appended at a time. */
  get appendMax(): number {
    return this.#segmentBytes;
  }

  /** Whether a segment is to begin. */
  get isFull(): boolean {
    return this.#segment !== undefined && this.#segment.bytes >= this.#segmentBytes;
  }

  /** Rejects with the system's error. What was written then is unknown, and the next text goes to a file that is opened anew. */
  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const segment = (this.#segment ??= await this.#open());
    try {
      const { bytesWritten } = await segment.handle.write(bytes);
      segment.bytes += bytesWritten;
      if (bytesWritten < bytes.length) throw new Error('the disk has taken only a part of it');
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** The next text goes to a new segment. */
  async next(): Promise<void> {
    const { number = 0 } = this.#segment ?? {};
    await this.close();
    this.#segment = await this.#open(number + 1);
  }

  async close(): Promise<void> {
    const { handle } = this.#segment ?? {};
    this.#segment = undefined;
    await handle?.close().catch(() => undefined);
  }

  /** Without a number, the last segment, where it has room. */
  async #open(wanted?: number): Promise<OpenSegment> {
    await makeFolder(this.#folder);
    await chmod(this.#folder, FOLDER_MODE);
    const names = await segmentNames(this.#folder);
    const last = Number.parseInt(names.at(-1) ?? '1', 10);
    const lastBytes = await sizeOf(join(this.#folder, segmentName(last)));
    const number = wanted ?? (lastBytes < this.#segmentBytes ? last : last + 1);
    await this.#makeRoom(names.filter((name) => name !== segmentName(number)));
    const path = join(this.#folder, segmentName(number));
    const handle = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, FILE_MODE);
    const { size } = await handle.stat();
    return { number, handle, bytes: size };
  }

  /** A segment can be twice as long as it should be: a text is not divided. */
  async #makeRoom(names: readonly string[]): Promise<void> {
    const sizes = await Promise.all(names.map(async (name) => sizeOf(join(this.#folder, name))));
    let total = sizes.reduce((sum, size) => sum + size, 2 * this.#segmentBytes);
    for (const [index, name] of names.entries()) {
      if (total <= this.#sizeBytes) return;
      await rm(join(this.#folder, name), { force: true });
      total -= sizes[index] ?? 0;
    }
  }
}

/** The oldest first. Rejects where the folder cannot be read. */
export async function segmentNames(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => SEGMENT.test(name))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
}

function segmentName(number: number): string {
  return `${String(number).padStart(6, '0')}.jsonl`;
}

async function sizeOf(path: string): Promise<number> {
  return (await ifThere(stat(path)))?.size ?? 0;
}
