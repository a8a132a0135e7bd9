import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { findCgroupMounts } from '../../policies/cgroups/cgroup-mounts.ts';
import {
  cgroupRootOf,
  podCgroup,
  podCgroups,
  qosCgroups,
  uidOfPodCgroup,
} from '../../policies/cgroups/cgroup-names.ts';
import type { QOSCgroups } from '../../policies/cgroups/cgroup-names.ts';
import { podCgroupResources } from '../../policies/cgroups/cgroup-resources.ts';
import type { PodCgroupSettings } from '../../policies/cgroups/cgroup-resources.ts';
import { cgroupValues } from '../../policies/cgroups/cgroup-values.ts';
import type { CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import { StateletError } from '../../types/errors.ts';
import type { NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { CgroupMeasurements } from '../../types/measurements.ts';
import { OneAtATime } from '../../system/promises/one-at-a-time.ts';
import { promiseOf } from '../../system/promises/promise-of.ts';
import { type CgroupDriver, FileDriver } from './cgroup-driver.ts';
import { endProcessesIn } from './cgroup-removal.ts';
import { CgroupTree } from './cgroup-tree.ts';
import { QOSGroups } from './qos-groups.ts';

export interface PodCgroupsOptions extends PodCgroupSettings {
  /** Where `kubepods` is made: a path in the tree of cgroups, `/` for its top. Must exist. */
  readonly cgroupRoot: string;
  /** false: pods get no cgroups of their own. Default: true. */
  readonly cgroupsPerQOS?: boolean;
  /** Whether processes are reserved: then a machine must be able to limit them. */
  readonly reservesPIDs?: boolean;
  /** Default: this process's. */
  readonly mountinfoFile?: string;
  readonly measurements?: CgroupMeasurements;
  readonly recorder: NodeEventRecorder;
  readonly logger: Logger;
}

/** What there is where pods have cgroups of their own. */
interface OwnGroups {
  readonly tree: CgroupTree;
  readonly driver: CgroupDriver;
  /** The groups above those of the pods. */
  readonly above: QOSGroups;
}

/**
 * The cgroups of pods, below `kubepods` by QoS class, as the kubelet lays them out. The runtime makes the cgroups of containers below that
 * of their pod.
 */
export class PodCgroups {
  /** The machine's version, also where pods have no cgroups of their own. Undefined: the machine has no cgroups. */
  readonly version: CgroupVersion | undefined;
  readonly #options: PodCgroupsOptions;
  readonly #layout: QOSCgroups;
  readonly #needed: readonly string[];
  /** Undefined where pods have no cgroups of their own. */
  readonly #own: OwnGroups | undefined;
  /** The groups above the pods follow from all pods: they are changed in the order in which pods come and go. */
  readonly #turns = new OneAtATime();
  /** How many searches for pods there were. */
  #searches = 0;
  /** What was last written for a pod, by UID. */
  readonly #written = new Map<string, string>();
  /** Pods that have been prepared and not released, by UID. */
  readonly #pods = new Map<string, Pod>();
  #allocatable: ResourceList = {};

  private constructor(options: PodCgroupsOptions) {
    this.#options = options;
    const { cgroupRoot, cgroupsPerQOS = true, mountinfoFile = '/proc/self/mountinfo', logger } = options;
    const limitsPIDs = options.podPidsLimit > 0 || options.reservesPIDs === true;
    this.#needed = ['cpu', 'memory', ...(limitsPIDs ? ['pids'] : [])];
    this.#layout = qosCgroups(cgroupRoot, 'cgroupfs');
    const tree = cgroupsPerQOS ? new CgroupTree(mountinfoFile, this.#needed, logger) : undefined;
    this.#own = tree && this.#ownGroups(tree, new FileDriver(tree));
    this.version = tree?.version ?? findCgroupMounts(readFileSync(mountinfoFile, 'utf8')).version;
  }

  /** Rejects as FailedPrecondition where a controller, or `cgroupRoot`, is missing; names it, and what helps. */
  static open(options: PodCgroupsOptions): Promise<PodCgroups> {
    return promiseOf(() => {
      const cgroups = new PodCgroups(options);
      cgroups.#requireRoot();
      return cgroups;
    });
  }

  /** Makes the cgroups above the pods. `allocatable`: the CPU, memory and `pid` that all pods together may use. */
  async setUp(allocatable: ResourceList = {}): Promise<void> {
    this.#allocatable = allocatable;
    await this.#setUp();
  }

  /** CRI's `cgroup_parent`. Empty: the runtime's own choice. */
  parentOf(pod: Pod): string {
    if (this.#own) return podCgroup(this.#layout, pod);
    const root = cgroupRootOf(this.#options.cgroupRoot, this.#layout.driver);
    return root === '/' ? '' : root;
  }

  /** Makes the pod's cgroup, and adapts the cgroups above it to all pods that are prepared. */
  async prepare(pod: Pod): Promise<void> {
    await this.ensurePod(pod);
    const { uid } = pod.metadata;
    if (this.#pods.get(uid) === pod) return;
    this.#pods.set(uid, pod);
    await this.updateQoS(this.#pods.values());
  }

  /** Undoes `prepare`, and removes what is there of an unknown UID as well. */
  async release(uid: string): Promise<void> {
    await this.removePod(uid);
    if (this.#pods.delete(uid)) await this.updateQoS(this.#pods.values());
  }

  /** Makes the pod's cgroup where it does not exist, and writes its limits where they have changed. */
  async ensurePod(pod: Pod): Promise<void> {
    if (!this.#own) return;
    const { tree, driver, above } = this.#own;
    const group = podCgroup(this.#layout, pod);
    const values = cgroupValues(tree.version, podCgroupResources(pod, this.#options), above.hugetlbFiles);
    const written = JSON.stringify([group, values]);
    const { uid } = pod.metadata;
    const exists = tree.exists(group);
    if (this.#written.get(uid) === written && exists) return;
    const end = this.#options.measurements?.cgroupOperation(exists ? 'update' : 'create');
    await this.#makePod(driver, group);
    await driver.write(group, values);
    this.#written.set(uid, written);
    end?.();
  }

  /** Removes the pod's cgroup; kills processes that are left in it. An unknown UID is no error. */
  async removePod(uid: string): Promise<void> {
    this.#written.delete(uid);
    const groups = this.#groupsOf(uid);
    const end = groups.length > 0 ? this.#options.measurements?.cgroupOperation('destroy') : undefined;
    for (const group of groups) await this.#own?.driver.remove(group);
    end?.();
  }

  /** Writes the shares of the burstable pods' cgroup, which follow from all pods that may run. */
  updateQoS(pods: Iterable<Pod>): Promise<void> {
    return this.#turns.run(async () => this.#own?.above.update(pods));
  }

  /** Kills the processes that are left in the pod's cgroup. Resolves when there is none. An unknown UID is no error. */
  endProcesses(uid: string): Promise<void> {
    return endProcessesIn(this.#groupsOf(uid).flatMap((group) => this.#own?.tree.folders(group) ?? []));
  }

  /**
   * UIDs of the pods that have a cgroup in any hierarchy. Where the search is not thorough, each call looks into the next hierarchy: to
   * list all of v1's takes two milliseconds on a full node.
   */
  podsOnDisk(isThorough: boolean): Promise<readonly string[]> {
    return promiseOf(() => {
      const { tree } = this.#own ?? {};
      if (!tree) return [];
      const turn = this.#searches++ % tree.hierarchies.length;
      const uids = Object.values(this.#layout.byClass)
        .flatMap((group) => tree.folders(group).filter((_, index) => isThorough || index === turn))
        .flatMap(namesIn)
        .map((name) => uidOfPodCgroup(name, this.#layout.driver));
      return [...new Set(uids.filter((uid) => uid !== undefined))];
    });
  }

  #ownGroups(tree: CgroupTree, driver: CgroupDriver): OwnGroups {
    const { measurements, recorder } = this.#options;
    const above = new QOSGroups({
      tree,
      driver,
      groups: this.#layout,
      needed: this.#needed,
      allocatable: () => this.#allocatable,
      memoryQoS: tree.version === 2 ? this.#options.memoryQoS : undefined,
      measurements,
      recorder,
    });
    return { tree, driver, above };
  }

  #requireRoot(): void {
    const cgroupRoot = cgroupRootOf(this.#options.cgroupRoot, this.#layout.driver);
    const { tree } = this.#own ?? {};
    const folders = tree ? this.#needed.map((name) => tree.folder(name, cgroupRoot)) : [];
    const missing = folders.find((folder) => !existsSync(folder));
    if (missing === undefined) return;
    const message = `cgroupRoot ${cgroupRoot} does not exist: make ${missing}, or leave cgroupRoot out`;
    throw new StateletError('FailedPrecondition', message);
  }

  #setUp(): Promise<void> {
    return this.#turns.run(async () => this.#own?.above.make());
  }

  async #makePod(driver: CgroupDriver, group: string): Promise<void> {
    if (await driver.makeBelow(group)) return;
    // Another process has removed the cgroups above it.
    await this.#setUp();
    await driver.make(group);
  }

  /** Those that exist. After a restart the pod's QoS class is not known. */
  #groupsOf(uid: string): readonly string[] {
    const { tree } = this.#own ?? {};
    if (!tree) return [];
    return podCgroups(this.#layout, uid).filter((group) =>
      tree.folders(group).some((folder) => existsSync(folder)),
    );
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
