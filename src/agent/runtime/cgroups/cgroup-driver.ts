import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import type { CgroupValue } from '../../policies/cgroups/cgroup-values.ts';
import { promiseOf } from '../../../system/promises.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { removeCgroups } from './cgroup-removal.ts';
import type { CgroupTree } from './cgroup-tree.ts';

/** Who makes, limits and removes groups. A group is a path in the tree, laid out for the driver. */
export interface CgroupDriver {
  readonly name: CgroupDriverName;
  /** Makes the group, with those above it, in every hierarchy. Returns whether it is new. */
  make(group: string): Promise<boolean>;
  /** Makes the group, if it is missing. Returns false where there is no group above it. */
  makeBelow(group: string): Promise<boolean>;
  /** Rejects as Internal, with the system's error as the cause, for a value that cannot be set. */
  write(group: string, values: readonly CgroupValue[]): Promise<void>;
  /** Ends the processes in the group, and removes it with all below it. A group that does not exist is no error. */
  remove(group: string): Promise<void>;
}

/** Groups are folders, and limits are files in them: what the kernel itself offers. */
export class FileDriver implements CgroupDriver {
  readonly name = 'cgroupfs';
  readonly #tree: CgroupTree;

  constructor(tree: CgroupTree) {
    this.#tree = tree;
  }

  make(group: string): Promise<boolean> {
    return promiseOf(() => this.#tree.make(group, { recursive: true }));
  }

  makeBelow(group: string): Promise<boolean> {
    return promiseOf(() => {
      try {
        this.#tree.make(group, { recursive: false });
        return true;
      } catch (error) {
        if (errnoCode(error) !== 'ENOENT') throw error;
        return false;
      }
    });
  }

  write(group: string, values: readonly CgroupValue[]): Promise<void> {
    return promiseOf(() => this.#tree.write(group, values));
  }

  remove(group: string): Promise<void> {
    return removeCgroups(this.#tree.folders(group));
  }
}
