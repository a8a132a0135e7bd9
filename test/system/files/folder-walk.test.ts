import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type FolderVisitor, walkFolder } from '../../../src/system/files/folder-walk.ts';
import { type Opened, openFolder, placeOf } from '../../../src/system/files/open-place.ts';
import { openBelow } from '../../support/held-open.ts';

const DEEP = 'deep'.repeat(25);

let dir: string;
let root: Opened;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-walk-'));
  mkdirSync(join(dir, 'root'));
  root = await openFolder(join(dir, 'root'));
});
afterEach(() => {
  closeSync(root.fd);
  rmSync(dir, { recursive: true });
});

const inRoot = (...names: string[]) => join(dir, 'root', ...names);

/** Visits everything, and notes the names. */
class Notes implements FolderVisitor {
  readonly entriesAtATime: number = 1;
  readonly foldersAtATime: number = 1;
  readonly notes: string[] = [];

  entry(place: Buffer, entry: Parameters<FolderVisitor['entry']>[1]): Promise<boolean> {
    this.notes.push(`entry ${entry.name}`);
    return Promise.resolve(entry.isDirectory());
  }

  left(place: Buffer): Promise<void> {
    this.notes.push(`left ${place.toString().split('/').at(-1) ?? ''}`);
    return Promise.resolve();
  }

  unreadable(error: unknown): void {
    throw error;
  }
}

/** A folder in a folder in a folder …, deeper than any path. */
function makeDeep(depth: number): void {
  let at = openSync(inRoot(), 'r');
  for (let level = 0; level < depth; level++) {
    const inner = `${placeOf({ fd: at })}/${DEEP}`;
    mkdirSync(inner);
    const next = openSync(inner, 'r');
    closeSync(at);
    at = next;
  }
  closeSync(at);
}

const openFolders = () => openBelow(dir);

test('a folder is left when all below it has been visited', async () => {
  mkdirSync(inRoot('a', 'b'), { recursive: true });
  writeFileSync(inRoot('a', 'b', 'c'), '');
  const visitor = new Notes();
  await walkFolder(root, visitor);
  expect(visitor.notes).toEqual(['entry a', 'entry b', 'entry c', 'left b', 'left a']);
});

describe('a folder that is replaced between the reading of its name and the visit', () => {
  /** Does it as soon as the name has been read. */
  class Attack extends Notes {
    readonly #attack: (name: string) => void;

    constructor(attack: (name: string) => void) {
      super();
      this.#attack = attack;
    }

    override async entry(...[place, entry]: Parameters<FolderVisitor['entry']>): Promise<boolean> {
      const isFolder = await super.entry(place, entry);
      if (isFolder) this.#attack(entry.name);
      return isFolder;
    }
  }

  test('by a link is not entered', async () => {
    mkdirSync(join(dir, 'victim'));
    writeFileSync(join(dir, 'victim', 'precious'), '');
    mkdirSync(inRoot('a'));
    const visitor = new Attack((name) => {
      renameSync(inRoot(name), join(dir, 'aside'));
      symlinkSync(join(dir, 'victim'), inRoot(name));
    });
    await walkFolder(root, visitor);
    expect(visitor.notes).toEqual(['entry a']);
  });

  test('by a file, or by nothing, is not entered', async () => {
    mkdirSync(inRoot('a'));
    mkdirSync(inRoot('b'));
    const visitor = new Attack((name) => {
      rmSync(inRoot(name), { recursive: true });
      if (name === 'a') writeFileSync(inRoot('a'), '');
    });
    await walkFolder(root, visitor);
    expect(visitor.notes.toSorted()).toEqual(['entry a', 'entry b']);
  });

  test('whose folder above becomes a link while it is visited, is left in its true place', async () => {
    mkdirSync(join(dir, 'victim', 'b'), { recursive: true });
    mkdirSync(inRoot('a', 'b', 'c'), { recursive: true });
    const visitor = new Attack((name) => {
      if (name !== 'c') return;
      renameSync(inRoot('a'), join(dir, 'aside'));
      symlinkSync(join(dir, 'victim'), inRoot('a'));
    });
    const places: string[] = [];
    visitor.left = (place) => {
      places.push(place.toString());
      // The link is none.
      if (places.length < 3) rmdirSync(place);
      return Promise.resolve();
    };
    await walkFolder(root, visitor);
    expect(places).toHaveLength(3);
    expect(readdirSync(join(dir, 'victim'))).toEqual(['b']);
    expect(readdirSync(join(dir, 'aside'))).toEqual([]);
  });
});

describe('a tree deeper than a path can be', () => {
  const DEPTH = 200;

  test('is visited with few folders open, and all of them are closed in the end', async () => {
    makeDeep(DEPTH);
    const before = openFolders();
    let most = 0;
    const visitor = new Notes();
    await walkFolder(
      root,
      Object.assign(visitor, {
        enters: () => {
          most = Math.max(most, openFolders());
          return true;
        },
      }),
    );
    expect(visitor.notes.filter((note) => note === `left ${DEEP}`)).toHaveLength(DEPTH);
    expect(most - before).toBeLessThan(25);
    expect(openFolders()).toBe(before);
  });

  test('of which a part is moved away meanwhile is visited as far as a way leads back', async () => {
    makeDeep(100);
    mkdirSync(inRoot('other'));
    let entered = 0;
    const visitor = Object.assign(new Notes(), {
      enters: () => {
        if (++entered === 80) renameSync(inRoot(DEEP, DEEP, DEEP), join(dir, 'moved'));
        return true;
      },
    });
    await walkFolder(root, visitor);
    expect(visitor.notes).toContain('left other');
    expect(visitor.notes.filter((note) => note === `left ${DEEP}`).length).toBeLessThan(100);
  });
});

describe('many folders', () => {
  const FOLDERS = Array.from({ length: 40 }, (_, index) => `f${index}`);
  beforeEach(() => {
    for (const name of FOLDERS) mkdirSync(inRoot(name, 'inner'), { recursive: true });
  });

  class Wide extends Notes {
    override readonly foldersAtATime = 5;
    underWay = 0;
    most = 0;
    readonly #second = Promise.withResolvers<undefined>();

    /** Below the root, the first one waits for a second. */
    async enters(folder: Opened): Promise<boolean> {
      this.most = Math.max(this.most, ++this.underWay);
      if (this.underWay > 1) this.#second.resolve(undefined);
      if (folder !== root) await this.#second.promise;
      await new Promise(setImmediate);
      this.underWay--;
      return true;
    }
  }

  test('are visited at the same time, up to the limit', async () => {
    const visitor = new Wide();
    await walkFolder(root, visitor);
    expect(visitor.most).toBeGreaterThan(1);
    expect(visitor.most).toBeLessThanOrEqual(5);
    expect(visitor.notes.filter((note) => note === 'left inner')).toHaveLength(40);
    expect(visitor.notes.filter((note) => note.startsWith('left f')).toSorted()).toEqual(
      FOLDERS.map((name) => `left ${name}`).toSorted(),
    );
  });

  test('are all closed when a visit fails, and the failure is passed on', async () => {
    const before = openFolders();
    const visitor = Object.assign(new Wide(), { left: () => Promise.reject(new Error('no')) });
    await expect(walkFolder(root, visitor)).rejects.toThrow('no');
    expect(openFolders()).toBe(before);
  });

  test('beyond the number whose names are kept are not visited', async () => {
    const visitor = Object.assign(new Notes(), { foldersMax: 3 });
    await walkFolder(root, visitor);
    expect(visitor.notes.filter((note) => note === 'left inner')).toHaveLength(3);
  });

  test('are not visited once it is over', async () => {
    class Brief extends Notes {
      get isOver(): boolean {
        return this.notes.includes('entry inner');
      }
    }
    const visitor = new Brief();
    await walkFolder(root, visitor);
    expect(visitor.notes.filter((note) => note === 'entry inner')).toHaveLength(1);
  });
});
