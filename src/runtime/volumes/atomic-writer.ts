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
import { errnoCode, ifThere } from '../../system/system-errors.ts';
import { setOwnership, type Ownership } from './volume-folder.ts';

const DATA = '..data';
const NEW_DATA = '..data_tmp';

type Payload = ReadonlyMap<string, VolumeFile>;

/** Whether files have been written into the volume. */
export async function isWritten(volume: string): Promise<boolean> {
  return (await linkTarget(join(volume, DATA))) !== undefined;
}

/** Writes only if something has changed. Completes what a killed agent left unfinished. `now` is Unix ms. */
export async function writePayload(
  volume: string,
  payload: Payload,
  ownership: Ownership,
  now: number,
): Promise<void> {
  const current = await linkTarget(join(volume, DATA));
  const upToDate = current !== undefined && (await holds(join(volume, current), payload));
  const version = upToDate ? current : await writeVersion(volume, payload, ownership, now);
  if (!upToDate) await pointTo(volume, version);
  await tidy(volume, payload, version);
}

/** Whether a folder has these files and no others. */
async function holds(folder: string, payload: Payload): Promise<boolean> {
  const entries = await ifThere(readdir(folder, { recursive: true, withFileTypes: true }));
  if (entries?.filter((entry) => !entry.isDirectory()).length !== payload.size) return false;
  const same = await Promise.all(
    Array.from(payload, async ([path, { content }]) => {
      const found = await readFile(join(folder, path)).catch(() => undefined);
      return found?.equals(Buffer.from(content)) === true;
    }),
  );
  return same.every(Boolean);
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
  for (const [path, { content, mode, owner }] of payload) {
    await makeFolders(folder, dirname(path), folderMode, ownership);
    const file = join(folder, path);
    await writeFile(file, content, { mode: 0o600 });
    await setOwnership(file, readOnlyFileMode(mode, ownership.fsGroup), { ...ownership, owner });
  }
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
  await rm(join(volume, NEW_DATA), { force: true });
  await symlink(version, join(volume, NEW_DATA));
  await rename(join(volume, NEW_DATA), join(volume, DATA));
}

/** Makes the links to the files, and removes all other entries: links to former files, and former versions. */
async function tidy(volume: string, payload: Payload, version: string): Promise<void> {
  const names = topLevelNames(payload);
  const keep = new Set([...names, DATA, version]);
  const found = await readdir(volume);
  const isLink = async (name: string) => (await linkTarget(join(volume, name))) === `${DATA}/${name}`;
  for (const name of names) {
    if (await isLink(name)) continue;
    await rm(join(volume, name), { recursive: true, force: true });
    await symlink(`${DATA}/${name}`, join(volume, name));
  }
  for (const name of found.filter((candidate) => !keep.has(candidate))) {
    await rm(join(volume, name), { recursive: true, force: true });
  }
}

/** Undefined where there is no symbolic link. */
async function linkTarget(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined);
}
