/**
 * Keeps the last good version of each manifest on the disk. When the agent restarts and a manifest is broken or unreadable,
 * its pods come from there.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../system/make-folder.ts';
import type { PodSource } from '../../policies/pod-actions/wanted-pods.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { SourceProblem } from '../source.ts';
import type { Manifest } from './read-manifest.ts';

/** The content of a file on the disk. A file of another format version is ignored. */
interface KeptManifest {
  readonly version: typeof FORMAT_VERSION;
  /** Path or URL. */
  readonly location: string;
  readonly content: string;
}

const FORMAT_VERSION = 1;
/** Only for the owner: environment variables in manifests may be secret. */
const MODE = { folder: 0o700, file: 0o600 };

/**
 * Writes in the background, one file at a time: pods do not wait for a slow or full disk. A version that could not be written
 * is tried again when its source is read again.
 */
export class LastGoodManifests {
  readonly folder: string;
  /** The digest of the version on the disk, by location, where it is known. */
  readonly #kept = new Map<string, string>();
  readonly #waiting = new Map<string, { readonly content: Buffer; readonly digest: string }>();
  #locations: ReadonlySet<string> | undefined;
  #work = Promise.resolve();
  #failure: string | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Why the last attempt to write failed; undefined when it did not. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** `content` is the last good version at `location`: writes it to the disk. */
  keep(location: string, content: Buffer, digest: string): void {
    if (this.#kept.get(location) === digest) return;
    this.#waiting.set(location, { content, digest });
    this.#afterwards(() => this.#write(location));
  }

  /** Whether the disk is known to hold this version. */
  has(location: string, digest: string | undefined): boolean {
    return digest !== undefined && this.#kept.get(location) === digest;
  }

  /** Removes the manifests of all other locations from the disk. */
  keepOnly(locations: ReadonlySet<string>): void {
    const before = this.#locations;
    this.#locations = locations;
    if (before && [...before].every((location) => locations.has(location))) return;
    this.#afterwards(() => this.#removeOthers());
  }

  /** Undefined where the disk has no usable version. */
  async read(location: string): Promise<Buffer | undefined> {
    const kept = await readKept(join(this.folder, fileName(location)));
    return kept?.location === location ? Buffer.from(kept.content) : undefined;
  }

  /** The locations of all manifests on the disk, sorted. */
  async locations(): Promise<string[]> {
    const files = await readdir(this.folder).catch(() => []);
    const kept = await Promise.all(files.map((file) => readKept(join(this.folder, file))));
    return kept.flatMap((manifest) => (manifest ? [manifest.location] : [])).sort();
  }

  /** Resolves when all writes and removals so far have been tried. */
  async settled(): Promise<void> {
    await this.#work;
  }

  #afterwards(step: () => Promise<void>): void {
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
    if (!isThere) await this.#replace({ version: FORMAT_VERSION, location, content: content.toString() });
    this.#kept.set(location, digest);
    this.#failure = undefined;
  }

  /** When the new version cannot be written, the old one is removed: no pod is better than the wrong pod. */
  async #replace(manifest: KeptManifest): Promise<void> {
    const file = join(this.folder, fileName(manifest.location));
    try {
      await makeFolder(this.folder, MODE.folder);
      await replaceFile(file, JSON.stringify(manifest), { mode: MODE.file });
    } catch (error) {
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

/** Secrets are on the disk only where their author has put them: a manifest is kept without them. */
export function contentToKeep(content: Buffer, { withoutSecrets }: Pick<Manifest, 'withoutSecrets'>): Buffer {
  return withoutSecrets === undefined ? content : Buffer.from(withoutSecrets);
}

export function keepingProblems(source: PodSource, lastGood: LastGoodManifests | undefined): SourceProblem[] {
  if (lastGood?.failure === undefined) return [];
  const message = `last good manifests cannot be kept for the next start: ${lastGood.failure}`;
  return [{ source, file: lastGood.folder, message }];
}

function fileName(location: string): string {
  return `${createHash('sha256').update(location).digest('hex')}.json`;
}

/** Undefined for a file that does not exist, is broken, or has another format version. */
async function readKept(file: string): Promise<KeptManifest | undefined> {
  try {
    const kept = JSON.parse(await readFile(file, 'utf8')) as Partial<KeptManifest> | null;
    if (kept?.version !== FORMAT_VERSION) return undefined;
    return typeof kept.location === 'string' && typeof kept.content === 'string'
      ? (kept as KeptManifest)
      : undefined;
  } catch {
    return undefined;
  }
}
