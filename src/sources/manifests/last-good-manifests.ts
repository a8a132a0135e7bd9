/**
 * Keeps the last good version of each manifest on the disk. An agent that starts again finds its pods there where the manifest
 * has been broken meanwhile, or cannot be read.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PodSource } from '../../policies/sync/pod-updates.ts';
import { errorMessage } from '../../types/errors.ts';
import type { SourceProblem } from '../source.ts';

/** How a kept manifest is written down. One of another version is passed over. */
interface KeptManifest {
  readonly version: typeof VERSION;
  /** Path or URL. */
  readonly location: string;
  readonly content: string;
}

const VERSION = 1;
/** Environment variables may hold secrets. */
const OWNER_ALONE = { folder: 0o700, file: 0o600 };

/**
 * Writes one thing at a time and in the background: neither a slow disk nor a full one holds up a pod. A version that could
 * not be written is tried again when its source is read again.
 */
export class LastGoodManifests {
  readonly folder: string;
  /** Digest of what the disk holds, by location, where that is known. */
  readonly #kept = new Map<string, string>();
  readonly #waiting = new Map<string, { readonly content: Buffer; readonly digest: string }>();
  #locations: ReadonlySet<string> | undefined;
  #work = Promise.resolve();
  #failure: string | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Why something could not be kept the last time, if so. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Notes that this is the last good version at `location`. */
  keep(location: string, content: Buffer, digest: string): void {
    if (this.#kept.get(location) === digest) return;
    this.#waiting.set(location, { content, digest });
    this.#then(() => this.#write(location));
  }

  /** Whether the disk is known to hold this version. */
  has(location: string, digest: string | undefined): boolean {
    return digest !== undefined && this.#kept.get(location) === digest;
  }

  /** Notes that these locations are all there are: what is kept of others is removed. */
  keepOnly(locations: ReadonlySet<string>): void {
    const before = this.#locations;
    this.#locations = locations;
    if (before && [...before].every((location) => locations.has(location))) return;
    this.#then(() => this.#removeOthers());
  }

  /** Undefined where nothing of use is kept. */
  async read(location: string): Promise<Buffer | undefined> {
    const kept = await readKept(join(this.folder, fileName(location)));
    return kept?.location === location ? Buffer.from(kept.content) : undefined;
  }

  /** Locations of all that is kept, sorted. */
  async locations(): Promise<string[]> {
    const files = await readdir(this.folder).catch(() => []);
    const kept = await Promise.all(files.map((file) => readKept(join(this.folder, file))));
    return kept.flatMap((manifest) => (manifest ? [manifest.location] : [])).sort();
  }

  /** Resolves when all that was noted has been tried. */
  async settled(): Promise<void> {
    await this.#work;
  }

  #then(step: () => Promise<void>): void {
    this.#work = this.#work.then(step).catch((error: unknown) => {
      this.#failure = errorMessage(error);
    });
  }

  async #write(location: string): Promise<void> {
    const version = this.#waiting.get(location);
    if (!version) return;
    this.#waiting.delete(location);
    const { content, digest } = version;
    const isThere = (await this.read(location))?.equals(content);
    if (!isThere) await this.#replace({ version: VERSION, location, content: content.toString() });
    this.#kept.set(location, digest);
    this.#failure = undefined;
  }

  /** An older version must not stay where a newer one cannot be written: nothing is better than the wrong pod. */
  async #replace(manifest: KeptManifest): Promise<void> {
    const file = join(this.folder, fileName(manifest.location));
    const draft = `${file}.new`;
    try {
      await mkdir(this.folder, { recursive: true, mode: OWNER_ALONE.folder });
      await writeFile(draft, JSON.stringify(manifest), { mode: OWNER_ALONE.file });
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      await rm(file, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  async #removeOthers(): Promise<void> {
    const wanted = new Set([...(this.#locations ?? [])].map(fileName));
    const files = await readdir(this.folder).catch(() => []);
    for (const file of files.filter((name) => !wanted.has(name)))
      await rm(join(this.folder, file), { force: true });
    for (const location of this.#kept.keys())
      if (!this.#locations?.has(location)) this.#kept.delete(location);
  }
}

export function keepingProblems(source: PodSource, lastGood: LastGoodManifests | undefined): SourceProblem[] {
  if (lastGood?.failure === undefined) return [];
  const message = `last good manifests cannot be kept for the next start: ${lastGood.failure}`;
  return [{ source, file: lastGood.folder, message }];
}

function fileName(location: string): string {
  return `${createHash('sha256').update(location).digest('hex')}.json`;
}

/** Undefined for what is not there, is broken, or comes from another version. */
async function readKept(file: string): Promise<KeptManifest | undefined> {
  try {
    const kept = JSON.parse(await readFile(file, 'utf8')) as Partial<KeptManifest> | null;
    if (kept?.version !== VERSION) return undefined;
    return typeof kept.location === 'string' && typeof kept.content === 'string'
      ? (kept as KeptManifest)
      : undefined;
  } catch {
    return undefined;
  }
}
