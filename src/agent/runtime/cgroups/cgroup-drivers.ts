import { lstatSync } from 'node:fs';
import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import { StateletError } from '../../../types/errors.ts';
import { type CgroupDriver, FileDriver } from './cgroup-driver.ts';
import type { CgroupTree } from './cgroup-tree.ts';
import type { SystemdManager, SystemdSockets } from './systemd-manager.ts';

/** Where systemd of a machine is found. */
export interface SystemdPlaces {
  /** The folder that systemd makes when it starts as process 1. */
  readonly booted: string;
  readonly sockets: SystemdSockets;
  /** How long systemd may take for a call with its job. Default: 30 s. */
  readonly patienceMs?: number;
}

export const SYSTEMD_PLACES: SystemdPlaces = {
  booted: '/run/systemd/system',
  sockets: { direct: '/run/systemd/private', bus: '/run/dbus/system_bus_socket' },
};

/** The drivers of one tree. The code for systemd is loaded only where there are slices. */
export class CgroupDrivers {
  readonly #tree: CgroupTree;
  readonly #places: SystemdPlaces;
  readonly #files: FileDriver;
  #slices: Promise<CgroupDriver> | undefined;
  #manager: SystemdManager | undefined;

  constructor(tree: CgroupTree, places: SystemdPlaces = SYSTEMD_PLACES) {
    this.#tree = tree;
    this.#places = places;
    this.#files = new FileDriver(tree);
  }

  /** Rejects as FailedPrecondition where the machine does not run systemd. */
  get(name: CgroupDriverName): Promise<CgroupDriver> {
    if (name === 'cgroupfs') return Promise.resolve(this.#files);
    if (!this.#runsSystemd()) return Promise.reject(noSystemd(this.#places.booted));
    return (this.#slices ??= this.#openSystemd());
  }

  /** Removes groups that an agent with this driver has made. Without systemd, slices are plain folders. */
  remover(name: CgroupDriverName): Promise<CgroupDriver> {
    return this.get(this.#runsSystemd() ? name : 'cgroupfs');
  }

  close(): void {
    this.#manager?.close();
  }

  async #openSystemd(): Promise<CgroupDriver> {
    const [{ SystemdDriver }, { SystemdManager: Manager }] = await Promise.all([
      import('./systemd-driver.ts'),
      import('./systemd-manager.ts'),
    ]);
    this.#manager = new Manager(this.#places);
    return new SystemdDriver(this.#tree, this.#manager);
  }

  #runsSystemd(): boolean {
    return lstatSync(this.#places.booted, { throwIfNoEntry: false })?.isDirectory() === true;
  }
}

function noSystemd(booted: string): StateletError {
  const message =
    `the cgroup driver is systemd (cgroupDriver, --cgroup-driver, or as the container runtime reports), and systemd is not ` +
    `process 1 of this machine (there is no ${booted}): set cgroupDriver: cgroupfs, and have the runtime use cgroupfs too ` +
    '(containerd: SystemdCgroup = false; CRI-O: cgroup_manager = "cgroupfs"), or start the machine with systemd';
  return new StateletError('FailedPrecondition', message);
}
