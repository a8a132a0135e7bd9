/** The folders, files, links and mounts of a simulated node that have to do with CSI drivers. They outlive its agents. */
import { basename, dirname } from 'node:path';
import type { VolumeDisk } from '../../agent/runtime/volumes/volume-disk.ts';
import { StateletError } from '../../types/errors.ts';
import type { KeyedRandom } from '../resources/growth.ts';

/** Reports what the agent does to mounts that only drivers may do. */
export interface MountWitness {
  unmountedByAgent(path: string): void;
  removedBelow(mount: string, folder: string): void;
}

export interface SimulatedVolumeDiskOptions {
  readonly random: KeyedRandom;
  /** Whether the agent dies while it writes. */
  readonly mayDie: () => boolean;
  readonly killAgent: () => void;
  readonly witness?: MountWitness;
}

const DIES_AT_WRITE = 0.02;

export class SimulatedVolumeDisk {
  readonly folders = new Set<string>();
  readonly files = new Map<string, string>();
  /** By the path, the volume that a driver has mounted there. */
  readonly mounts = new Map<string, string>();
  /** By the path, the block device that a symbolic link names. */
  readonly links = new Map<string, string>();
  readonly #options: SimulatedVolumeDiskOptions;
  #writes = 0;

  constructor(options: SimulatedVolumeDiskOptions) {
    this.#options = options;
  }

  /** All that is below a folder, and the folder itself. */
  below(folder: string): readonly string[] {
    const { folders, files, links, mounts } = this;
    return [...folders, ...files.keys(), ...links.keys(), ...mounts.keys()].filter((path) =>
      isBelow(path, folder),
    );
  }

  mkdir(folder: string): void {
    for (let path = folder; path !== '/' && !this.folders.has(path); path = dirname(path))
      this.folders.add(path);
  }

  /** For one agent, which may die at each step. Does nothing for it once it is dead. */
  forAgent(isAlive: () => boolean): VolumeDisk {
    const read = async <T>(look: () => T): Promise<T> => {
      await this.#turn(isAlive);
      return look();
    };
    const write = (change: () => void) => this.#write(isAlive, change);
    return {
      mountedPaths: () => read(() => new Set(this.mounts.keys())),
      names: (folder) =>
        read(() => namesIn(folder, [...this.folders, ...this.files.keys(), ...this.links.keys()])),
      subfolderNames: (folder) => read(() => namesIn(folder, this.folders)),
      linkNames: (folder) => read(() => namesIn(folder, this.links.keys())),
      exists: (folder) => read(() => this.folders.has(folder)),
      realpath: (folder) => read(() => folder),
      readFile: (path) => read(() => this.files.get(path)),
      makeFolder: (folder) => write(() => this.mkdir(folder)),
      makeMountPoint: (folder) => write(() => this.mkdir(folder)),
      replaceFile: (path, text) =>
        write(() => {
          if (!this.folders.has(dirname(path))) throw errnoError('ENOENT', path);
          this.files.set(path, text);
        }),
      removeFile: (path) => write(() => void this.files.delete(path)),
      rmdir: (folder) => write(() => this.#rmdir(folder)),
      unmountBelow: (folder) => write(() => this.#unmountBelow(folder)),
      removeTree: (folder) => write(() => this.#removeTree(folder)),
      linkDevice: ({ link }, device) =>
        write(() => {
          this.mkdir(dirname(link));
          this.links.set(link, device);
        }),
      mapDevice: async ({ mount }, device) => {
        await write(() => this.#makeDeviceFile(mount, device));
        await write(() => this.mounts.set(mount, this.mounts.get(device) ?? ''));
      },
      unmapDevice: async ({ mount }) => {
        await write(() => void this.mounts.delete(mount));
        await write(() => void this.files.delete(mount));
        await write(() => this.#removeIfEmpty(dirname(mount)));
      },
      unlinkDevice: ({ link }) => write(() => void this.links.delete(link)),
      tearDownVolumes: () => read(() => undefined),
    };
  }

  #makeDeviceFile(file: string, device: string): void {
    if (!this.mounts.has(device)) throw errnoError('ENODEV', device);
    this.mkdir(dirname(file));
    this.files.set(file, '');
  }

  #removeIfEmpty(folder: string): void {
    if (this.below(folder).length === 1) this.folders.delete(folder);
  }

  #rmdir(folder: string): void {
    if (!this.folders.has(folder)) throw errnoError('ENOENT', folder);
    if (this.mounts.has(folder)) throw errnoError('EBUSY', folder);
    if (this.below(folder).length > 1) throw errnoError('ENOTEMPTY', folder);
    this.folders.delete(folder);
  }

  #unmountBelow(folder: string): void {
    for (const mount of [...this.mounts.keys()].filter((path) => isBelow(path, folder))) {
      this.#options.witness?.unmountedByAgent(mount);
      this.mounts.delete(mount);
    }
  }

  #removeTree(folder: string): void {
    const mount = [...this.mounts.keys()].find((path) => isBelow(path, folder));
    if (mount !== undefined) this.#options.witness?.removedBelow(mount, folder);
    for (const path of this.below(folder)) {
      this.folders.delete(path);
      this.files.delete(path);
      this.links.delete(path);
    }
  }

  async #turn(isAlive: () => boolean): Promise<void> {
    await Promise.resolve();
    if (!isAlive()) await new Promise(() => undefined);
  }

  async #write(isAlive: () => boolean, change: () => void): Promise<void> {
    await this.#turn(isAlive);
    const { random, mayDie, killAgent } = this.#options;
    const fate = mayDie() ? random(`csi/write/${String(++this.#writes)}`) : 1;
    if (fate >= DIES_AT_WRITE / 2) change();
    if (fate >= DIES_AT_WRITE) return;
    killAgent();
    await new Promise(() => undefined);
  }
}

function namesIn(folder: string, paths: Iterable<string>): readonly string[] {
  return [...paths].filter((path) => dirname(path) === folder).map((path) => basename(path));
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function errnoError(code: string, path: string): Error {
  return Object.assign(new StateletError('Internal', `${code}: ${path}`), { code });
}
