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
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { rfc3339 } from '../../policies/formats/time.ts';
import { topLevelNames, type VolumeFile } from '../../policies/volumes/projected-files.ts';
import { readOnlyFileMode, readOnlyFolderMode } from '../../policies/volumes/volume-ownership.ts';
import { eachOf } from '../../system/each-of.ts';
import { errnoCode, ifThere } from '../../system/system-errors.ts';
import { setOwnership, type Ownership } from './volume-folder.ts';

const DATA = '..data';
const NEW_DATA = '..data_tmp';
/** A version is a folder of the volume itself, wherever a changed link may lead. */
const VERSION = /^\.\.[^/]+$/;
/** As many as Node has threads for files. An object may have ten thousand keys, and a process only so many open files. */
const FILES_AT_A_TIME = 4;

type Payload = ReadonlyMap<string, VolumeFile>;

/** The name of the folder with the volume's files; undefined where none have been written completely. */
export async function currentVersion(volume: string): Promise<string | undefined> {
  const target = await linkTarget(join(volume, DATA));
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
  const current = await currentVersion(volume);
  const names = topLevelNames(payload);
  if (current !== undefined && (await holds(join(volume, current), payload))) {
    await tidy(volume, names, current, await readdir(volume));
    return current;
  }
  // What a killed agent has left may take the room that is needed now.
  await removeOthers(volume, await readdir(volume), (name) => name === current || !name.startsWith('..'));
  const version = await writeVersion(volume, payload, ownership, now);
  await pointTo(volume, version);
  await tidy(volume, names, version, await readdir(volume));
  return version;
}

/** Like `writePayload`, for a folder that was made just now. It is not read first: with a pod's start each call counts. */
export async function writeFirstPayload(
  volume: string,
  payload: Payload,
  ownership: Ownership,
  now: number,
): Promise<string> {
  const version = await writeVersion(volume, payload, ownership, now);
  await pointTo(volume, version);
  await tidy(volume, topLevelNames(payload), version, []);
  return version;
}

/** Whether a folder has these files and no others. */
async function holds(folder: string, payload: Payload): Promise<boolean> {
  const entries = await ifThere(readdir(folder, { recursive: true, withFileTypes: true }));
  if (entries?.filter((entry) => !entry.isDirectory()).length !== payload.size) return false;
  let isSame = true;
  await eachOf(payload, FILES_AT_A_TIME, async ([path, { content }]) => {
    if (!isSame) return;
    const found = await readFile(join(folder, path)).catch(() => undefined);
    if (found?.equals(Buffer.from(content)) !== true) isSame = false;
  });
  return isSame;
}

/** Returns the name of the new folder. */
async function writeVersion(
  volume: string,
  payload: Payload,
  ownership: Ownership,
  now: number,
): Promise<string> {
  const stamp = rfc3339(now).replace('Z', '.').replaceAll(/[-T:]/g, '_');
  const folder = await mkdtemp(join(volume, `..${stamp}`));
  try {
    await writeFiles(folder, payload, ownership);
  } catch (error) {
    // On a full disk, every try would leave another unfinished folder.
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return basename(folder);
}

async function writeFiles(folder: string, payload: Payload, ownership: Ownership): Promise<void> {
  const folderMode = readOnlyFolderMode(ownership.fsGroup);
  await setOwnership(folder, folderMode, ownership);
  for (const path of new Set(Array.from(payload.keys(), dirname))) {
    await makeFolders(folder, path, folderMode, ownership);
  }
  await eachOf(payload, FILES_AT_A_TIME, async ([path, { content, mode, owner }]) => {
    const file = join(folder, path);
    await writeFile(file, content, { mode: 0o600, flag: 'wx' });
    await setOwnership(file, readOnlyFileMode(mode, ownership.fsGroup), { ...ownership, owner });
  });
}

async function makeFolders(root: string, path: string, mode: number, ownership: Ownership): Promise<void> {
  if (path === '.') return;
  await makeFolders(root, dirname(path), mode, ownership);
  try {
    await mkdir(join(root, path));
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return;
    throw error;
  }
  await setOwnership(join(root, path), mode, ownership);
}

async function pointTo(volume: string, version: string): Promise<void> {
  const draft = join(volume, NEW_DATA);
  const data = join(volume, DATA);
  await replacing(draft, 'EEXIST', () => symlink(version, draft));
  await replacing(data, 'EISDIR', () => rename(draft, data));
}

/** Where the work fails for what lies at the path, that is removed, and the work done again. */
async function replacing(path: string, code: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (errnoCode(error) !== code) throw error;
    await rm(path, { recursive: true, force: true });
    await work();
  }
}

/**
 * Removes former versions and links to former files, and makes the missing links: in this order, as there may be no room for more.
 * `found`: the names in the volume.
 */
async function tidy(
  volume: string,
  names: ReadonlySet<string>,
  version: string,
  found: readonly string[],
): Promise<void> {
  await removeOthers(volume, found, (name) => name === version || names.has(name));
  const present = new Set(found);
  await eachOf(names, FILES_AT_A_TIME, async (name) => {
    const link = join(volume, name);
    if (present.has(name)) {
      if ((await linkTarget(link)) === `${DATA}/${name}`) return;
      await rm(link, { recursive: true, force: true });
    }
    await symlink(`${DATA}/${name}`, link);
  });
}

async function removeOthers(
  volume: string,
  entries: readonly string[],
  isKept: (name: string) => boolean,
): Promise<void> {
  const others = entries.filter((name) => name !== DATA && !isKept(name));
  await eachOf(others, FILES_AT_A_TIME, (name) => rm(join(volume, name), { recursive: true, force: true }));
}

/** Undefined where there is no symbolic link. */
async function linkTarget(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined);
}
