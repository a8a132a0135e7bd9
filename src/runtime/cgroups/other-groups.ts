import { existsSync } from 'node:fs';
import { podCgroups, type QOSCgroups, scopeName } from '../../policies/cgroups/cgroup-names.ts';
import type { CgroupDrivers } from './cgroup-drivers.ts';
import { pidsIn } from './cgroup-removal.ts';
import { type CgroupTree, podsIn, subfolders } from './cgroup-tree.ts';

/** The groups of pods that an agent with the other driver has left. Their pods are started anew, as the kubelet does. */
export class OtherGroups {
  readonly #tree: CgroupTree;
  readonly #drivers: CgroupDrivers;
  readonly #layout: QOSCgroups;
  /** Found when the agent began to use its driver: no pod is added to them. */
  readonly #uids: Set<string>;

  constructor(tree: CgroupTree, drivers: CgroupDrivers, layout: QOSCgroups) {
    this.#tree = tree;
    this.#drivers = drivers;
    this.#layout = layout;
    this.#uids = new Set(podsIn(layout, (group) => tree.folders(group)).keys());
  }

  /** Whether the sandbox runs in such a group. */
  holds(uid: string, sandboxId: string): boolean {
    if (!this.#uids.has(uid)) return false;
    const names = this.#foldersOf(uid).flatMap(({ folders }) => folders.flatMap(subfolders));
    return names.some((name) => name === sandboxId || name.endsWith(scopeName('-', sandboxId)));
  }

  /** Removes what is left of the pod there, once nothing runs in it. */
  async removeEmpty(uid: string): Promise<void> {
    if (!this.#uids.has(uid)) return;
    const groups = this.#foldersOf(uid);
    if (groups.some(({ folders }) => folders.some((folder) => pidsIn(folder).length > 0))) return;
    const driver = await this.#drivers.remover(this.#layout.driver);
    for (const { group } of groups) await driver.remove(group);
    this.#uids.delete(uid);
  }

  #foldersOf(uid: string): readonly { readonly group: string; readonly folders: readonly string[] }[] {
    return podCgroups(this.#layout, uid)
      .map((group) => ({ group, folders: this.#tree.folders(group).filter((folder) => existsSync(folder)) }))
      .filter(({ folders }) => folders.length > 0);
  }
}
