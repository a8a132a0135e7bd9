import { join } from 'node:path';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import type { NetworkStats } from '../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { groupFolder, processesOf } from './group-processes.ts';
import { networkStats } from './network-figures.ts';
import { runningContainers } from './pod-figures.ts';

export interface PodNetworksOptions {
  readonly tree: CgroupTree;
  /** The group of a container of the pod with that group. */
  readonly containerGroup: (podGroup: string, id: string) => string;
  /** The folder that contains `proc`. */
  readonly root: string;
}

/** The figures of pods' own networks, read through one of the pod's processes. */
export class PodNetworks {
  readonly #options: PodNetworksOptions;

  constructor(options: PodNetworksOptions) {
    this.#options = options;
  }

  /** Undefined if the pod is on the node's network, or no process of the pod is found. */
  of(pod: RuntimePodStatus, group: string, time: string): NetworkStats | undefined {
    const sandbox = pod.sandboxes.find(({ ready }) => ready);
    if (sandbox?.networkMode !== 'POD') return undefined;
    // Some runtimes have no process for the sandbox.
    for (const { id } of [sandbox, ...runningContainers(pod)]) {
      const stats = this.#ofGroup(this.#options.containerGroup(group, id), time);
      if (stats !== undefined) return stats;
    }
    return undefined;
  }

  #ofGroup(group: string, time: string): NetworkStats | undefined {
    const { tree, root } = this.#options;
    const folder = groupFolder(tree, group);
    const [pid] = folder === undefined ? [] : processesOf(folder);
    return pid === undefined ? undefined : networkStats(join(root, 'proc', pid, 'net'), time);
  }
}
