/**
 * Walks through a tree of files that others may be changing, and that may be of any depth and size. No step follows a link: folders
 * are opened by their names in open folders. Only a few folders are open at a time, and paths stay short.
 */
import { closeSync, type Dirent, fstat, type Stats } from 'node:fs';
import { opendir, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { eachOf } from '../promises.ts';
import { errnoCode } from '../system-errors.ts';
import { openFolder, type Opened, placeIn, placeOf } from './open-place.ts';

/** The names of a folder of this size are read in one go, which takes a tenth of the time. */
const SMALL_FOLDER_BYTES = 65_536;
/** How many names of a larger folder are read in one go. */
const NAMES_AT_A_TIME = 1024;
/** Of a deeper tree, the upper folders are closed, and opened again on the way back. */
const OPEN_MAX = 16;

export interface FolderVisitor {
  /** How many entries of a folder are visited at the same time. */
  readonly entriesAtATime: number;
  /** How many folders are visited at the same time: on a busy machine it is the way to a thread and back that takes the time. */
  readonly foldersAtATime: number;
  /** Of how many folders in a folder the names are kept in memory. Others are not visited. Default: all. */
  readonly foldersMax?: number;
  /** What has not been visited yet stays so. */
  readonly isOver?: boolean;
  /** Resolves to whether to go into it: it is a folder. `place` is a path that no other process can turn elsewhere. */
  entry(place: Buffer, entry: Dirent): Promise<boolean>;
  /** Whether to visit its entries; default: yes. */
  enters?(folder: Opened, stats: Stats): boolean | Promise<boolean>;
  /** All below it has been visited. */
  leaving?(folder: Opened, stats: Stats): Promise<void>;
  /** It is closed. Not called for a folder that was moved meanwhile. */
  left?(place: Buffer): Promise<void>;
  /** A folder cannot be opened, or its entries cannot be read. */
  unreadable(error: unknown): void;
}

/** `root` is closed by the caller. Rejects with what the visitor throws. */
export async function walkFolder(root: Opened, visitor: FolderVisitor): Promise<void> {
  const walk = new Walk(visitor, { free: visitor.foldersAtATime - 1 });
  await walk.through({ folder: root, stats: await statsOf(root) });
}

/** Undefined where there is no folder any more, or only a link. */
export async function folderAt(place: string | Buffer): Promise<Opened | undefined> {
  try {
    return await openFolder(place);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** A folder may have any number of names: those of a large one are never all in memory. */
async function entriesOf(folder: Opened, { size }: Stats): Promise<Iterable<Dirent> | AsyncIterable<Dirent>> {
  const path = placeOf(folder);
  if (size <= SMALL_FOLDER_BYTES) return readdir(path, { encoding: 'latin1', withFileTypes: true });
  return opendir(path, { encoding: 'latin1', bufferSize: NAMES_AT_A_TIME });
}

function statsOf({ fd }: Opened): Promise<Stats> {
  return promisify(fstat)(fd);
}

interface Found {
  readonly folder: Opened;
  readonly stats: Stats;
}

interface Level {
  /** In its parent. */
  readonly name: string;
  readonly stats: Stats;
  /** Undefined while it is closed. The last level is always open. */
  folder: Opened | undefined;
  /** The names of folders in it that are still to be visited. */
  readonly names: string[];
  /** Other walks, through folders in it. */
  readonly walks: Set<Promise<void>>;
}

/** A walk from a folder downwards. It leaves other folders on its way to further walks, while all walks together are below the limit. */
class Walk {
  readonly #visitor: FolderVisitor;
  readonly #walkers: { free: number };
  readonly #levels: Level[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(visitor: FolderVisitor, walkers: { free: number }) {
    this.#visitor = visitor;
    this.#walkers = walkers;
  }

  async through(root: Found): Promise<void> {
    try {
      await this.#enter(root, '');
      for (let level = this.#levels.at(-1); level?.folder; level = this.#levels.at(-1)) {
        if (this.#failure) throw this.#failure.error;
        const name = this.#visitor.isOver ? undefined : level.names.pop();
        if (name === undefined) await this.#leave(level, level.folder);
        else await this.#goInto(level, level.folder, name);
      }
    } finally {
      for (const { folder, walks } of this.#levels) {
        await Promise.allSettled(walks);
        if (folder && folder !== root.folder) closeSync(folder.fd);
      }
    }
  }

  /** A folder stays open while other walks go through folders in it. Since only few may be open, none are started far down. */
  async #goInto(parent: Level, at: Opened, name: string): Promise<void> {
    const found = await this.#found(at, name);
    if (found === undefined) return;
    const isNear = this.#levels.length <= OPEN_MAX;
    if (isNear && parent.names.length > 0 && this.#walkers.free > 0) {
      const walk = this.#walkBeside(at, found, name).finally(() => parent.walks.delete(walk));
      parent.walks.add(walk);
      return;
    }
    await this.#enter(found, name);
    this.#closeFarLevel();
  }

  async #walkBeside(parent: Opened, found: Found, name: string): Promise<void> {
    this.#walkers.free--;
    try {
      const walk = new Walk(this.#visitor, this.#walkers);
      await walk.through(found).finally(() => closeSync(found.folder.fd));
      await this.#visitor.left?.(placeIn(parent, name));
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#walkers.free++;
    }
  }

  async #found(parent: Opened, name: string): Promise<Found | undefined> {
    let folder: Opened | undefined;
    try {
      folder = await folderAt(placeIn(parent, name));
      return folder && { folder, stats: await statsOf(folder) };
    } catch (error) {
      if (folder) closeSync(folder.fd);
      this.#visitor.unreadable(error);
      return undefined;
    }
  }

  /** Becomes the owner of the folder. */
  async #enter({ folder, stats }: Found, name: string): Promise<void> {
    const level: Level = { name, stats, folder, names: [], walks: new Set() };
    this.#levels.push(level);
    if ((await this.#visitor.enters?.(folder, stats)) ?? true) await this.#visitEntries(folder, level);
  }

  async #visitEntries(folder: Opened, { names, stats }: Level): Promise<void> {
    const visitor = this.#visitor;
    const { foldersMax = Infinity } = visitor;
    try {
      await eachOf(await entriesOf(folder, stats), visitor.entriesAtATime, async (entry) => {
        if (visitor.isOver) return;
        const isFolder = await visitor.entry(placeIn(folder, entry.name), entry);
        if (isFolder && names.length < foldersMax) names.push(entry.name);
      });
    } catch (error) {
      visitor.unreadable(error);
    }
  }

  async #leave({ name, stats, walks }: Level, folder: Opened): Promise<void> {
    await Promise.all(walks);
    if (this.#failure) return;
    await this.#visitor.leaving?.(folder, stats);
    const parent = await this.#parentOf(folder);
    this.#levels.pop();
    if (this.#levels.length === 0) return;
    closeSync(folder.fd);
    if (parent) await this.#visitor.left?.(placeIn(parent, name));
    else this.#leaveMoved();
  }

  /** Undefined where the folder has been moved elsewhere. */
  async #parentOf(folder: Opened): Promise<Opened | undefined> {
    const parent = this.#levels.at(-2);
    if (!parent || parent.folder) return parent?.folder;
    const found = await folderAt(Buffer.from(`${placeOf(folder)}/..`));
    const { dev, ino } = (found && (await statsOf(found))) ?? {};
    if (dev === parent.stats.dev && ino === parent.stats.ino) return (parent.folder = found);
    if (found) closeSync(found.fd);
    return undefined;
  }

  /** From a folder that was moved there is no way up: the walk goes on from the next folder above that is still open. */
  #leaveMoved(): void {
    while (this.#levels.at(-1)?.folder === undefined) this.#levels.pop();
  }

  #closeFarLevel(): void {
    const far = this.#levels[this.#levels.length - 1 - OPEN_MAX];
    if (far?.folder === undefined || far === this.#levels[0] || far.walks.size > 0) return;
    closeSync(far.folder.fd);
    far.folder = undefined;
  }
}
