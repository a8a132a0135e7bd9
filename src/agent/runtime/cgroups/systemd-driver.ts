import { dirname } from 'node:path';
import { unitOf } from '../../policies/cgroups/cgroup-names.ts';
import type { CgroupValue } from '../../policies/cgroups/cgroup-values.ts';
import { sliceProperties, systemdLimits } from '../../policies/cgroups/systemd-properties.ts';
import { type CgroupDriver, FileDriver } from './cgroup-driver.ts';
import { endProcessesIn } from './cgroup-removal.ts';
import type { CgroupTree } from './cgroup-tree.ts';
import type { SystemdManager } from './systemd-manager.ts';

/**
 * Groups are systemd's slices. systemd makes them in the hierarchies that it manages. It undoes limits that it does not know, so it gets all of
 * them. Other hierarchies, and limits without a property of systemd, are written as files, as in the library that the kubelet uses.
 */
export class SystemdDriver implements CgroupDriver {
  readonly name = 'systemd';
  readonly #tree: CgroupTree;
  readonly #manager: SystemdManager;
  readonly #files: FileDriver;

  constructor(tree: CgroupTree, manager: SystemdManager) {
    this.#tree = tree;
    this.#manager = manager;
    this.#files = new FileDriver(tree);
  }

  async make(group: string): Promise<boolean> {
    const isNew = !this.#tree.exists(group);
    await this.#start(group);
    await this.#files.make(group);
    return isNew;
  }

  async makeBelow(group: string): Promise<boolean> {
    // systemd would make the groups above it without their limits.
    if (!this.#tree.exists(dirname(group))) return false;
    if (!this.#tree.exists(group)) await this.#start(group);
    return this.#files.makeBelow(group);
  }

  async write(group: string, values: readonly CgroupValue[]): Promise<void> {
    if (values.length === 0) return;
    const limits = systemdLimits(values);
    if (limits.properties.length > 0) await this.#manager.setProperties(unitOf(group), limits.properties);
    await this.#files.write(group, limits.values);
  }

  async remove(group: string): Promise<void> {
    // systemd would give them a minute and a half.
    await endProcessesIn(this.#tree.folders(group));
    try {
      await this.#manager.stop(unitOf(group));
    } finally {
      await this.#files.remove(group);
    }
  }

  async #start(group: string): Promise<void> {
    const unit = unitOf(group);
    await this.#manager.startSlice(unit, sliceProperties(unit, unitOf(dirname(group)), this.#tree.version));
  }
}
