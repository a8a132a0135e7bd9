/**
 * Files that all change at the same moment, in the layout of the kubelet. A reader that has opened the volume's folder sees either
 * all old files or all new ones:
 *
 * ```
 * <volume>/
 *   ..2030_01_02_03_04_05.x7Tq2a/   labels  conf/name      the files, never written again
 *   ..data -> ..2030_01_02_03_04_05.x7Tq2a                 exchanged by one rename
 *   labels -> ..data/labels
 *   conf   -> ..data/conf
 * ```
 */
import { closeSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readlink, rename, symlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { rfc3339 } from '../../../policies/formats/time.ts';
import { namesOf, topLevelNames, type VolumeFile } from '../../../policies/volumes/projected-files.ts';
import { readOnlyFileMode, readOnlyFolderMode } from '../../../policies/volumes/volume-ownership.ts';
import { eachOf } from '../../../../system/promises.ts';
import { readForeignFile } from '../../../../system/files/foreign-file.ts';
import { walkFolder } from '../../../../system/files/folder-walk.ts';
import {
  inFolder,
  openFolder,
  type Opened,
  placeIn,
  placeOf,
  withRealPath,
} from '../../../../system/files/open-place.ts';
import { removeIn } from '../../../../system/files/remove-tree.ts';
import { errnoCode } from '../../../../system/system-errors.ts';
import { setOwnership, type Ownership } from './volume-folder.ts';

const DATA = '..data';
const NEW_DATA = '..data_tmp';
/** A version is a folder of the volume itself, wherever a changed link may lead. */
const VERSION = /^\.\.[^/]+$/;
/** As many as Node has threads for files. An object may have ten thousand keys, and a process only so many open files. */
const FILES_AT_A_TIME = 4;
const PRIVATE_FILE_MODE = 0o600;

type Payload = ReadonlyMap<string, VolumeFile>;

/** The name of the folder with the volume's files; undefined where none have been written completely. */
export async function currentVersion(volume: string): Promise<string | undefined> {
  const target = await linkTarget(`${volume}/${DATA}`);
  return target !== undefined && VERSION.test(target) ? target : undefined;
}

/**
 * Writes only if something has changed. Completes what a killed agent left unfinished. Resolves to the name of the folder with the
 * files. `now` is Unix ms.
 */
export async function writePayload(
  volume: string,
  payload: Payload,
  ownership: Ownership,
  now: number,
): Promise<string> {
  return inFolder(volume, async (folder) => {
    const current = await currentVersion(placeOf(folder));
    const names = topLevelNames(payload);
    if (current !== undefined && (await holds(folder, current, payload))) {
      await tidy(folder, names, current, await namesIn(folder));
      return current;
    }
    // What a killed agent has left may take the room that is needed now.
    const isKept = (name: string) => name === inBytes(current ?? '') || !name.startsWith('..');
    await removeOthers(folder, await namesIn(folder), isKept);
    const version = await writeVersion(folder, payload, ownership, now);
    await pointTo(folder, version);
    await tidy(folder, names, version, await namesIn(folder));
    return version;
  });
}

/** Like `writePayload`, for a folder that was made just now. It is not read first: at a pod's start each system call costs time. */
export async function writeFirstPayload(
  volume: string,
  payload: Payload,
  ownership: Ownership,
  now: number,
): Promise<string> {
  return inFolder(volume, async (folder) => {
    const version = await writeVersion(folder, payload, ownership, now);
    await pointTo(folder, version);
    await tidy(folder, topLevelNames(payload), version, []);
    return version;
  });
}

/** The names in a folder, one character per byte: they need not be UTF-8. */
function namesIn(folder: Opened): Promise<string[]> {
  return readdir(placeOf(folder), 'latin1');
}

function inBytes(name: string): string {
  return Buffer.from(name).toString('latin1');
}

/** Whether a version has these files and no others. */
async function holds(volume: Opened, version: string, payload: Payload): Promise<boolean> {
  const work = inFolder(placeIn(volume, inBytes(version)), async (root) => {
    if (!(await hasFiles(root, payload.size))) return false;
    let isSame = true;
    for (const [path, files] of filesByFolder(payload)) {
      await inFolderBelow(root, namesOf(path), undefined, (folder) =>
        eachOf(files, FILES_AT_A_TIME, async (file) => {
          if (isSame && !(await holdsFile(folder, file))) isSame = false;
        }),
      );
    }
    return isSame;
  });
  // Something else is in the place of one of its folders.
  return work.catch(() => false);
}

/** Whether there are so many files in the folder and all folders below. */
async function hasFiles(root: Opened, count: number): Promise<boolean> {
  let found = 0;
  await walkFolder(root, {
    entriesAtATime: 1,
    foldersAtATime: 1,
    get isOver() {
      return found > count;
    },
    entry: (_, entry) => {
      if (!entry.isDirectory()) found++;
      return Promise.resolve(entry.isDirectory());
    },
    unreadable: (error) => {
      throw error;
    },
  });
  return found === count;
}

async function holdsFile(folder: Opened, { path, content }: VolumeFile): Promise<boolean> {
  const wanted = Buffer.from(content);
  const options = { bytesMax: wanted.length, followsLinks: false };
  const found = await readForeignFile(`${placeOf(folder)}/${basename(path)}`, options).catch(() => undefined);
  return found?.content.equals(wanted) === true;
}

/** Returns the name of the new folder. */
async function writeVersion(
  volume: Opened,
  payload: Payload,
  ownership: Ownership,
  now: number,
): Promise<string> {
  const stamp = rfc3339(now).replace('Z', '.').replaceAll(/[-T:]/g, '_');
  const path = await mkdtemp(`${placeOf(volume)}/..${stamp}`);
  try {
    await inFolder(path, (folder) => writeFiles(folder, payload, ownership));
  } catch (error) {
    // On a full disk, every try would leave another unfinished folder.
    await removeIn(volume, basename(path));
    throw error;
  }
  return basename(path);
}

async function writeFiles(root: Opened, payload: Payload, ownership: Ownership): Promise<void> {
  const own = (folder: Opened) => setOwnership(folder, readOnlyFolderMode(ownership.fsGroup), ownership);
  await own(root);
  for (const [path, files] of filesByFolder(payload)) {
    await inFolderBelow(root, namesOf(path), own, (folder) =>
      eachOf(files, FILES_AT_A_TIME, (file) => writeFileIn(folder, file, ownership)),
    );
  }
}

async function writeFileIn(folder: Opened, file: VolumeFile, ownership: Ownership): Promise<void> {
  const { path, content, mode, owner } = file;
  const opened = await open(`${placeOf(folder)}/${basename(path)}`, 'wx', PRIVATE_FILE_MODE);
  try {
    await opened.writeFile(content);
    await setOwnership(opened, readOnlyFileMode(mode, ownership.fsGroup), { ...ownership, owner });
  } finally {
    await opened.close();
  }
}

/** By the path of their folder, which is `.` for the root. */
function filesByFolder(payload: Payload): ReadonlyMap<string, readonly VolumeFile[]> {
  return Map.groupBy(payload.values(), ({ path }) => dirname(path));
}

/** Goes down by names, no link among them, with one folder open at a time. With `own`, missing folders are made and given to it. */
async function inFolderBelow(
  root: Opened,
  names: readonly string[],
  own: ((folder: Opened) => Promise<void>) | undefined,
  work: (folder: Opened) => Promise<void>,
): Promise<void> {
  let folder = root;
  const goTo = (next: Opened) => {
    if (folder !== root) closeSync(folder.fd);
    folder = next;
  };
  try {
    for (const name of names) {
      const path = `${placeOf(folder)}/${name}`;
      const isNew = own !== undefined && (await makeFolder(path));
      goTo(await openFolder(path));
      if (isNew) await own(folder);
    }
    await work(folder);
  } catch (error) {
    throw withRealPath(error);
  } finally {
    goTo(root);
  }
}

/** False: there is something of that name. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function pointTo(volume: Opened, version: string): Promise<void> {
  const draft = `${placeOf(volume)}/${NEW_DATA}`;
  await replacing(volume, NEW_DATA, 'EEXIST', () => symlink(version, draft));
  await replacing(volume, DATA, 'EISDIR', () => rename(draft, `${placeOf(volume)}/${DATA}`));
}

/** If the work fails because something else has the name, removes that, and does the work again. */
async function replacing(
  volume: Opened,
  name: string,
  code: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (errnoCode(error) !== code) throw error;
    await removeIn(volume, name);
    await work();
  }
}

/**
 * Removes former versions and links to former files, and makes the missing links: in this order, as there may be no room for more.
 * `found`: the names in the volume, in bytes.
 */
async function tidy(
  volume: Opened,
  names: ReadonlySet<string>,
  version: string,
  found: readonly string[],
): Promise<void> {
  const kept = new Set([version, ...names].map(inBytes));
  await removeOthers(volume, found, (name) => kept.has(name));
  const present = new Set(found);
  await eachOf(names, FILES_AT_A_TIME, async (name) => {
    const link = `${placeOf(volume)}/${name}`;
    if (present.has(inBytes(name))) {
      if ((await linkTarget(link)) === `${DATA}/${name}`) return;
      await removeIn(volume, inBytes(name));
    }
    await symlink(`${DATA}/${name}`, link);
  });
}

async function removeOthers(
  volume: Opened,
  entries: readonly string[],
  isKept: (name: string) => boolean,
): Promise<void> {
  const others = entries.filter((name) => name !== DATA && !isKept(name));
  await eachOf(others, FILES_AT_A_TIME, (name) => removeIn(volume, name));
}

/** Undefined where there is no symbolic link. */
async function linkTarget(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined);
}
