import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { findCgroupMounts } from '../../policies/cgroups/cgroup-mounts.ts';
import {
  cgroupPath,
  podCgroup,
  podCgroupName,
  qosCgroups,
  uidOfPodCgroup,
} from '../../policies/cgroups/cgroup-names.ts';
import type { QOSCgroups } from '../../policies/cgroups/cgroup-names.ts';
import {
  burstableCPUShares,
  kubepodsResources,
  podCgroupResources,
} from '../../policies/cgroups/cgroup-resources.ts';
import type { CgroupResources, PodCgroupSettings } from '../../policies/cgroups/cgroup-resources.ts';
import { cgroupValues, isHugetlbLimit } from '../../policies/cgroups/cgroup-values.ts';
import type { CgroupValue, CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import { StateletError } from '../../types/errors.ts';
import type { NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { CgroupMeasurements } from '../../types/measurements.ts';
import { promiseOf } from '../../system/promises/promise-of.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { endProcessesIn, removeCgroups } from './cgroup-removal.ts';
import { CgroupTree } from './cgroup-tree.ts';
import { delegateControllers } from './delegation.ts';

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

/**
 * The cgroups of pods, below `kubepods` by QoS class, as the kubelet lays them out with the cgroupfs driver. The runtime makes the
 * cgroups of containers below that of their pod.
 */
export class PodCgroups {
  /** The machine's version, also where pods have no cgroups of their own. Undefined: the machine has no cgroups. */
  readonly version: CgroupVersion | undefined;
  readonly #options: PodCgroupsOptions;
  readonly #groups: QOSCgroups;
  /** Undefined: pods have no cgroups of their own. */
  readonly #tree: CgroupTree | undefined;
  readonly #needed: readonly string[];
  #allocatable: ResourceList = {};
  /** Whether the limits of all pods together have been written. Undefined: this was not tried yet. */
  #isEnforced: boolean | undefined;
  #hugetlbFiles: readonly string[] = [];
  /** How many searches for pods there were. */
  #searches = 0;
  #burstableShares: number | undefined;
  /** What was last written for a pod, by UID. */
  readonly #written = new Map<string, string>();
  /** Pods that have been prepared and not released, by UID. */
  readonly #pods = new Map<string, Pod>();

  private constructor(options: PodCgroupsOptions) {
    this.#options = options;
    this.#groups = qosCgroups(options.cgroupRoot);
    const limitsPIDs = options.podPidsLimit > 0 || options.reservesPIDs === true;
    this.#needed = ['cpu', 'memory', ...(limitsPIDs ? ['pids'] : [])];
    const { cgroupsPerQOS = true, mountinfoFile = '/proc/self/mountinfo', logger } = options;
    this.#tree = cgroupsPerQOS ? new CgroupTree(mountinfoFile, this.#needed, logger) : undefined;
    this.version = this.#tree?.version ?? findCgroupMounts(readFileSync(mountinfoFile, 'utf8')).version;
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
  setUp(allocatable: ResourceList = {}): Promise<void> {
    this.#allocatable = allocatable;
    return promiseOf(() => this.#setUp());
  }

  /** CRI's `cgroup_parent`. Empty: the runtime's own choice. */
  parentOf(pod: Pod): string {
    if (this.#tree) return podCgroup(this.#groups, pod);
    const root = cgroupPath(this.#options.cgroupRoot);
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
  ensurePod(pod: Pod): Promise<void> {
    return promiseOf(() => this.#ensurePod(pod));
  }

  /** Removes the pod's cgroup; kills processes that are left in it. An unknown UID is no error. */
  async removePod(uid: string): Promise<void> {
    this.#written.delete(uid);
    const folders = this.#foldersOf(uid);
    const end = folders.length > 0 ? this.#options.measurements?.cgroupOperation('destroy') : undefined;
    await removeCgroups(folders);
    end?.();
  }

  /** Writes the shares of the burstable pods' cgroup, which follow from all pods that may run. */
  updateQoS(pods: Iterable<Pod>): Promise<void> {
    return promiseOf(() => {
      if (this.#tree && this.#isEnforced === false) this.#enforceAllocatable(this.#tree);
      const shares = burstableCPUShares(pods);
      if (this.#tree && shares !== this.#burstableShares) this.#writeBurstableShares(this.#tree, shares);
    });
  }

  /** Kills the processes that are left in the pod's cgroup. Resolves when there is none. An unknown UID is no error. */
  endProcesses(uid: string): Promise<void> {
    return endProcessesIn(this.#foldersOf(uid));
  }

  /**
   * UIDs of the pods that have a cgroup in any hierarchy. Where the search is not thorough, each call looks into the next hierarchy: to
   * list all of v1's takes two milliseconds on a full node.
   */
  podsOnDisk(isThorough: boolean): Promise<readonly string[]> {
    return promiseOf(() => {
      const folders = this.#folders((group) => group);
      const count = this.#tree?.hierarchies.length ?? 1;
      const turn = this.#searches++ % count;
      const searched = isThorough ? folders : folders.filter((_, index) => index % count === turn);
      const names = searched.flatMap((folder) => namesIn(folder));
      return [...new Set(names.map(uidOfPodCgroup).filter((uid) => uid !== undefined))];
    });
  }

  #requireRoot(): void {
    const cgroupRoot = cgroupPath(this.#options.cgroupRoot);
    const folders = this.#tree ? this.#needed.map((name) => this.#tree?.folder(name, cgroupRoot) ?? '') : [];
    const missing = folders.find((folder) => !existsSync(folder));
    if (missing === undefined) return;
    const message = `cgroupRoot ${cgroupRoot} does not exist: make ${missing}, or leave cgroupRoot out`;
    throw new StateletError('FailedPrecondition', message);
  }

  #setUp(): void {
    const tree = this.#tree;
    if (!tree) return;
    const { kubepods, byClass } = this.#groups;
    this.#setUpGroup(tree, kubepods, {});
    this.#enforceAllocatable(tree);
    this.#setUpGroup(tree, byClass.BestEffort, { cpuShares: burstableCPUShares([]) });
    // A cgroup from before has its shares already, or gets them by `updateQoS`.
    const isNew = this.#setUpGroup(tree, byClass.Burstable, {});
    if (isNew) this.#writeBurstableShares(tree, this.#burstableShares ?? burstableCPUShares([]));
    if (tree.has('hugetlb')) {
      this.#hugetlbFiles = readdirSync(tree.folder('hugetlb', kubepods)).filter(isHugetlbLimit);
    }
  }

  /** Pods that run already may use more memory than pods may have now. Then the limits are tried again with each `updateQoS`. */
  #enforceAllocatable(tree: CgroupTree): void {
    const all = cgroupValues(tree.version, kubepodsResources(this.#allocatable));
    const values = all.filter((value) => this.#isNeeded(value) || tree.offers(this.#groups.kubepods, value));
    const refusals = values.flatMap((value) => this.#refusal(tree, value) ?? []);
    const wasEnforced = this.#isEnforced;
    this.#isEnforced = refusals.length === 0;
    if (this.#isEnforced !== wasEnforced) this.#tellEnforced(refusals);
  }

  #tellEnforced(refusals: readonly string[]): void {
    const { recorder } = this.#options;
    if (refusals.length === 0) {
      recorder.nodeEvent('Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
      return;
    }
    const message = `Failed to update Node Allocatable Limits: ${refusals.join('; ')}`;
    recorder.nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
  }

  #isNeeded({ controller }: CgroupValue): boolean {
    return this.#needed.includes(controller);
  }

  /** Why a value cannot be written while processes use more than that. Throws any other error. */
  #refusal(tree: CgroupTree, value: CgroupValue): string | undefined {
    try {
      tree.write(this.#groups.kubepods, [value]);
      return undefined;
    } catch (error) {
      if (error instanceof StateletError && errnoCode(error.cause) === 'EBUSY') return error.message;
      throw error;
    }
  }

  #setUpGroup(tree: CgroupTree, group: string, resources: CgroupResources): boolean {
    const isNew = tree.make(group, { recursive: true });
    delegateControllers(tree, group, this.#needed);
    tree.write(group, cgroupValues(tree.version, resources));
    return isNew;
  }

  #writeBurstableShares(tree: CgroupTree, cpuShares: number): void {
    const end = this.#options.measurements?.cgroupOperation('update');
    tree.write(this.#groups.byClass.Burstable, cgroupValues(tree.version, { cpuShares }));
    this.#burstableShares = cpuShares;
    end?.();
  }

  #ensurePod(pod: Pod): void {
    if (!this.#tree) return;
    const path = podCgroup(this.#groups, pod);
    const resources = podCgroupResources(pod, this.#options);
    const values = cgroupValues(this.#tree.version, resources, this.#hugetlbFiles);
    const written = JSON.stringify([path, values]);
    const { uid } = pod.metadata;
    const exists = this.#tree.exists(path);
    if (this.#written.get(uid) === written && exists) return;
    const end = this.#options.measurements?.cgroupOperation(exists ? 'update' : 'create');
    this.#makePod(this.#tree, path);
    this.#tree.write(path, values);
    this.#written.set(uid, written);
    end?.();
  }

  #makePod(tree: CgroupTree, path: string): void {
    try {
      tree.make(path, { recursive: false });
    } catch (error) {
      if (errnoCode(error) !== 'ENOENT') throw error;
      // Another process has removed the cgroups above it.
      this.#setUp();
      tree.make(path, { recursive: false });
    }
  }

  /** Those that exist. After a restart the pod's QoS class is not known. */
  #foldersOf(uid: string): readonly string[] {
    const name = podCgroupName(uid);
    return this.#folders((group) => `${group}/${name}`).filter(existsSync);
  }

  /** The folders of every QoS class in every hierarchy, the hierarchies of one class after the other. */
  #folders(pathIn: (group: string) => string): string[] {
    return Object.values(this.#groups.byClass).flatMap((group) => this.#tree?.folders(pathIn(group)) ?? []);
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
