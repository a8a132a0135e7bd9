/** What the folders of pods and the mounts of CSI drivers need of the machine. The simulation has a disk of its own. */
import { readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { readForeignFile } from '../../../system/files/foreign-file.ts';
import { removeTree } from '../../../system/files/remove-tree.ts';
import { subfolderNames } from '../../../system/files/subfolders.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { draftOf, replaceFile } from '../../../system/replace-file.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { makeMountPoint } from './kinds/volume-folder.ts';
import { tearDownVolumes } from './kinds/volume-kinds.ts';
import { linkDevice, mapDevice, unlinkDevice, unmapDevice } from './block-device.ts';
import { mountedPaths, unmountBelow } from './mounter.ts';
import { type DevicePaths, type PodPaths, PRIVATE_FOLDER_MODE } from './pod-paths.ts';
import { removeSubPaths } from './sub-path.ts';

export interface VolumeDisk {
  /** Where something is mounted, by the kernel's names. */
  mountedPaths(): Promise<ReadonlySet<string>>;
  /** Rejects where something stays mounted. */
  unmountBelow(folder: string): Promise<void>;
  /** None where there is no such folder: of all that is in it, of its folders, of its symbolic links. */
  names(folder: string): Promise<readonly string[]>;
  subfolderNames(folder: string): Promise<readonly string[]>;
  linkNames(folder: string): Promise<readonly string[]>;
  exists(folder: string): Promise<boolean>;
  /** Only the agent has access. */
  makeFolder(folder: string): Promise<void>;
  /** The name by which the kernel lists the folder among mounts. */
  realpath(folder: string): Promise<string>;
  makeMountPoint(folder: string): Promise<void>;
  /** Rejects where it is not empty, or something is mounted there. */
  rmdir(folder: string): Promise<void>;
  /** Undefined where there is none. */
  readFile(path: string, bytesMax: number): Promise<string | undefined>;
  /** After a crash it is as it was before, or as it is to be. */
  replaceFile(path: string, text: string, mode: number): Promise<void>;
  removeFile(path: string): Promise<void>;
  /** With all that is in it. */
  removeTree(folder: string): Promise<void>;
  /** The link names a block device for the pod's containers. By it a later agent finds the device, so it is made before. */
  linkDevice(paths: Pick<DevicePaths, 'link'>, device: string): Promise<void>;
  /** Mounts the block device, and holds it. Rejects where it is none. */
  mapDevice(paths: Pick<DevicePaths, 'mount'>, device: string): Promise<void>;
  unmapDevice(paths: Pick<DevicePaths, 'mount'>): Promise<void>;
  /** Once it is not mapped any more. */
  unlinkDevice(paths: Pick<DevicePaths, 'link'>): Promise<void>;
  /** What volumes have beside their files, once nothing of the pod is mounted. */
  tearDownVolumes(paths: PodPaths): Promise<void>;
}

export const machineDisk: VolumeDisk = {
  mountedPaths,
  unmountBelow,
  names: async (folder) => (await ifThere(readdir(folder))) ?? [],
  subfolderNames,
  linkNames: async (folder) =>
    ((await ifThere(readdir(folder, { withFileTypes: true }))) ?? [])
      .filter((entry) => entry.isSymbolicLink())
      .map(({ name }) => name),
  exists: async (folder) => (await ifThere(stat(folder))) !== undefined,
  makeFolder: async (folder) => {
    await makeFolder(folder, PRIVATE_FOLDER_MODE);
  },
  realpath: (folder) => realpath(folder),
  makeMountPoint,
  rmdir: (folder) => rmdir(folder),
  readFile: async (path, bytesMax) =>
    (await ifThere(readForeignFile(path, { bytesMax, followsLinks: false })))?.content.toString(),
  replaceFile: (path, text, mode) => replaceFile(path, text, { mode }),
  removeFile: async (path) => {
    // The agent may have been killed while it wrote the file.
    await rm(draftOf(path), { force: true });
    await rm(path, { force: true });
  },
  removeTree,
  linkDevice,
  mapDevice,
  unmapDevice,
  unlinkDevice,
  tearDownVolumes: async (paths) => {
    await removeSubPaths(paths.subPathsDir);
    await tearDownVolumes(paths);
  },
};
