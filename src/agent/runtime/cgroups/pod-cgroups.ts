import { existsSync, readFileSync } from 'node:fs';
import { findCgroupMounts } from '../../policies/cgroups/cgroup-mounts.ts';
import {
  type CgroupDriverName,
  cgroupRootOf,
  podCgroup,
  podCgroups,
  qosCgroups,
  type QOSCgroups,
  scopeName,
} from '../../policies/cgroups/cgroup-names.ts';
import {
  type CgroupResources,
  podCgroupResources,
  type PodCgroupSettings,
} from '../../policies/cgroups/cgroup-resources.ts';
import { cgroupValues, type CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import type { ReservedGroup } from '../../policies/node/node-allocatable.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import { OneAtATime, promiseOf } from '../../../system/promises.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { numberIn, readSmallFile, valueOf } from '../stats/small-files.ts';
import type { CgroupDriver } from './cgroup-driver.ts';
import { CgroupDrivers, type SystemdPlaces } from './cgroup-drivers.ts';
import { endProcessesIn, pidsIn } from './cgroup-removal.ts';
import { CgroupTree, podsIn, subfolders } from './cgroup-tree.ts';
import { limitReservedGroups, QOSGroups } from './qos-groups.ts';
import { refusedLimits } from './refused-limits.ts';

export interface PodCgroupsParts extends PodCgroupSettings {
  /** Default: `cgroupfs`. */
  readonly driver?: CgroupDriverName;
  /** A pod with CPUs of its own has no CPU quota. Default: there are none. */
  readonly hasExclusiveCPUs?: ((uid: string) => boolean) | undefined;
  /** Where `kubepods` is made: a path in the tree of cgroups, `/` for its top. Must exist. */
  readonly cgroupRoot: string;
  /** false: pods get no cgroups of their own. Default: true. */
  readonly cgroupsPerQOS?: boolean;
  /** Whether processes are reserved: then a machine must be able to limit them. */
  readonly reservesPIDs?: boolean;
  /** Groups of daemons that are limited as well. Default: none. */
  readonly reserved?: readonly ReservedGroup[];
  /** Default: this process's. */
  readonly mountinfoFile?: string;
  /** Default: systemd of this machine. */
  readonly systemd?: SystemdPlaces;
}

interface OwnGroups {
  readonly tree: CgroupTree;
  readonly driver: CgroupDriver;
  readonly layout: QOSCgroups;
  /** The groups above those of the pods. */
  readonly above: QOSGroups;
  readonly others: OtherGroups;
}

/**
 * The cgroups of pods, below `kubepods` by QoS class, as the kubelet lays them out. The runtime makes the cgroups of containers below that
 * of their pod.
 */
export class PodCgroups {
  /** The machine's version, also where pods have no cgroups of their own. Undefined: the machine has no cgroups. */
  readonly version: CgroupVersion | undefined;
  readonly #context: AgentContext;
  readonly #parts: PodCgroupsParts;
  /** Pods may still be where an agent with the other driver has put them. */
  readonly #layouts: readonly QOSCgroups[];
  readonly #needed: readonly string[];
  /** Undefined where pods have no cgroups of their own. */
  readonly #tree: CgroupTree | undefined;
  readonly #drivers: CgroupDrivers | undefined;
  /** Undefined where pods have no cgroups of their own. */
  #own: OwnGroups | undefined;
  /** The groups above the pods follow from all pods: they are changed in the order in which pods come and go. */
  readonly #turns = new OneAtATime();
  /** How many searches for pods there were. */
  #searches = 0;
  /** What was last written for a pod, by UID; `RESIZED`: parts of it. */
  readonly #written = new Map<string, string>();
  /** Pods that have been prepared and not released, by UID. */
  readonly #pods = new Map<string, Pod>();
  #allocatable: ResourceList = {};
  #driver: CgroupDriverName = 'cgroupfs';
  /** Whether the groups above the pods have been made. */
  #isSetUp = false;

  private constructor(context: AgentContext, parts: PodCgroupsParts) {
    this.#context = context;
    this.#parts = parts;
    const { cgroupRoot, cgroupsPerQOS = true, mountinfoFile = '/proc/self/mountinfo' } = parts;
    this.#layouts = DRIVERS.map((driver) => qosCgroups(cgroupRoot, driver));
    const limitsPIDs = parts.podPidsLimit > 0 || parts.reservesPIDs === true;
    this.#needed = ['cpu', 'memory', ...(limitsPIDs ? ['pids'] : [])];
    this.#tree = cgroupsPerQOS ? new CgroupTree(mountinfoFile, this.#needed, context.logger) : undefined;
    this.#drivers = this.#tree && new CgroupDrivers(this.#tree, parts.systemd);
    this.version = this.#tree?.version ?? findCgroupMounts(readFileSync(mountinfoFile, 'utf8')).version;
  }

  /** Rejects as FailedPrecondition where a controller, systemd or `cgroupRoot` is missing; names it, and what helps. */
  static async open(context: AgentContext, parts: PodCgroupsParts): Promise<PodCgroups> {
    const cgroups = await promiseOf(() => new PodCgroups(context, parts));
    await cgroups.useDriver(parts.driver ?? 'cgroupfs');
    return cgroups;
  }

  /** The driver that makes new groups. Groups of the other driver are still found, and removed. */
  get driver(): CgroupDriverName {
    return this.#own?.driver.name ?? this.#driver;
  }

  /** Rejects as FailedPrecondition where this machine cannot do it, and keeps the driver that it had. */
  async useDriver(name: CgroupDriverName): Promise<void> {
    await this.#use(name);
    this.#driver = name;
    this.#isSetUp = false;
    this.#written.clear();
  }

  /** Whether the pod's sandbox runs where an agent with the other driver has put it. */
  isElsewhere(uid: string, sandboxId: string): boolean {
    return this.#own?.others.holds(uid, sandboxId) ?? false;
  }

  /** Ends the conversation with systemd. */
  close(): void {
    this.#drivers?.close();
  }

  /** Makes the cgroups above the pods. `allocatable`: the CPU, memory and `pid` that all pods together may use. */
  async setUp(allocatable: ResourceList = {}): Promise<void> {
    this.#allocatable = allocatable;
    await this.#setUp();
  }

  /** CRI's `cgroup_parent`. Empty: the runtime's own choice. */
  parentOf(pod: Pod): string {
    if (this.#own) return podCgroup(this.#own.layout, pod);
    const root = cgroupRootOf(this.#parts.cgroupRoot, this.#driver);
    return root === '/' ? '' : root;
  }

  /** Makes the pod's cgroup, and adapts the cgroups above it to all pods that are prepared. `isResizing`: see `ensurePod`. */
  async prepare(pod: Pod, isResizing = false): Promise<void> {
    await this.ensurePod(pod, isResizing);
    const { uid } = pod.metadata;
    await this.#own?.others.removeEmpty(uid);
    if (this.#pods.get(uid) === pod) return;
    this.#pods.set(uid, pod);
    await this.updateQoS(this.#pods.values());
  }

  /** Undoes `prepare`, and removes what is there of an unknown UID as well. */
  async release(uid: string): Promise<void> {
    await this.removePod(uid);
    if (this.#pods.delete(uid)) await this.updateQoS(this.#pods.values());
  }

  /**
   * Makes the pod's cgroup where it does not exist, and writes its limits where they have changed. A limit below what is used now is tried again
   * next time. `isResizing`: what `resize` has written stays.
   */
  async ensurePod(pod: Pod, isResizing = false): Promise<void> {
    if (!this.#own) return;
    if (!this.#isSetUp) await this.#setUp();
    const { tree, driver, layout, above } = this.#own;
    const group = podCgroup(layout, pod);
    const values = cgroupValues(tree.version, this.resourcesOf(pod), above.hugetlbFiles);
    const written = JSON.stringify([group, values]);
    const { uid } = pod.metadata;
    const exists = tree.exists(group);
    const before = exists ? this.#written.get(uid) : undefined;
    if (before === written || (isResizing && before === RESIZED)) return;
    const end = this.#context.measurements?.cgroupOperation(exists ? 'update' : 'create');
    await this.#makePod(driver, group);
    const refused = exists ? await refusedLimits(tree, driver, group, values) : [];
    if (!exists) await driver.write(group, values);
    if (refused.length === 0) this.#written.set(uid, written);
    else this.#context.logger.debug({ podUID: uid, refused }, 'Limits of a pod cannot be set yet');
    end?.();
  }

  /** What the pod's cgroup is to have. Throws what `parseQuantity` throws. */
  resourcesOf(pod: Pod): CgroupResources {
    const isExclusive = this.#parts.hasExclusiveCPUs?.(pod.metadata.uid) === true;
    return podCgroupResources(pod, isExclusive ? { ...this.#parts, cpuCFSQuota: false } : this.#parts);
  }

  /** Writes these limits of the pod's cgroup, and no others. Where pods have no cgroups of their own there is nothing to write. */
  async resize(pod: Pod, resources: CgroupResources): Promise<void> {
    if (!this.#own) return;
    const { tree, driver, layout } = this.#own;
    const end = this.#context.measurements?.cgroupOperation('update');
    this.#written.set(pod.metadata.uid, RESIZED);
    await driver.write(podCgroup(layout, pod), cgroupValues(tree.version, resources));
    end?.();
  }

  /** How many bytes the pod uses, or one of its containers; undefined where that cannot be read. */
  memoryUsage(uid: string, containerId?: string): number | undefined {
    const tree = this.#tree;
    if (!tree) return undefined;
    const file = tree.version === 1 ? 'memory.usage_in_bytes' : 'memory.current';
    const folders = this.#groupsOf(uid)
      .map(({ group }) => tree.folder('memory', group))
      .flatMap((folder) => (containerId === undefined ? folder : foldersOfContainer(folder, containerId)));
    return folders
      .map((folder) => numberIn(readSmallFile(`${folder}/${file}`)))
      .find((usage) => usage !== undefined);
  }

  /** Removes the pod's cgroup; kills processes that are left in it. An unknown UID is no error. */
  async removePod(uid: string): Promise<void> {
    this.#written.delete(uid);
    const groups = this.#groupsOf(uid);
    const end = groups.length > 0 ? this.#context.measurements?.cgroupOperation('destroy') : undefined;
    for (const { group, layout } of groups)
      await (await this.#drivers?.remover(layout.driver))?.remove(group);
    end?.();
  }

  /** Writes the shares of the burstable pods' cgroup, which follow from all pods that may run. */
  updateQoS(pods: Iterable<Pod>): Promise<void> {
    return this.#turns.run(async () => this.#own?.above.update(pods));
  }

  /** Kills the processes that are left in the pod's cgroup. Resolves when there is none. An unknown UID is no error. */
  endProcesses(uid: string): Promise<void> {
    return endProcessesIn(this.#groupsOf(uid).flatMap(({ group }) => this.#tree?.folders(group) ?? []));
  }

  /** How many processes of the pod the kernel has killed for want of memory; undefined where no group counts them for all containers. */
  oomKills(uid: string): number | undefined {
    const tree = this.#tree;
    if (tree?.version !== 2) return undefined;
    const files = this.#groupsOf(uid).map(({ group }) => `${tree.folder('memory', group)}/memory.events`);
    const counts = files.flatMap((file) => valueOf(readSmallFile(file) ?? '', 'oom_kill') ?? []);
    return counts.length === 0 ? undefined : Math.max(...counts);
  }

  /**
   * UIDs of the pods that have a cgroup in any hierarchy. Where the search is not thorough, each call looks into the next hierarchy: to
   * list all of v1's takes two milliseconds on a full node.
   */
  podsOnDisk(isThorough: boolean): Promise<readonly string[]> {
    return promiseOf(() => {
      const tree = this.#tree;
      if (!tree) return [];
      const turn = this.#searches++ % tree.hierarchies.length;
      const foldersOf = (group: string) =>
        tree.folders(group).filter((_, index) => isThorough || index === turn);
      return [...new Set(this.#layouts.flatMap((layout) => [...podsIn(layout, foldersOf).keys()]))];
    });
  }

  async #use(name: CgroupDriverName): Promise<void> {
    const tree = this.#tree;
    const drivers = this.#drivers;
    const driver = await drivers?.get(name);
    if (!tree || !drivers || !driver) return;
    const { cgroupRoot, memoryQoS } = this.#parts;
    if (name === 'cgroupfs') this.#requireRoot(tree);
    const layout = qosCgroups(cgroupRoot, name);
    const above = new QOSGroups(this.#context, {
      tree,
      driver,
      groups: layout,
      needed: this.#needed,
      allocatable: () => this.#allocatable,
      memoryQoS: tree.version === 2 ? memoryQoS : undefined,
    });
    const other = qosCgroups(cgroupRoot, name === 'systemd' ? 'cgroupfs' : 'systemd');
    this.#own = { tree, driver, layout, above, others: new OtherGroups(tree, drivers, other) };
  }

  #requireRoot(tree: CgroupTree): void {
    const cgroupRoot = cgroupRootOf(this.#parts.cgroupRoot, 'cgroupfs');
    const folders = this.#needed.map((name) => tree.folder(name, cgroupRoot));
    const missing = folders.find((folder) => !existsSync(folder));
    if (missing === undefined) return;
    const message = `cgroupRoot ${cgroupRoot} does not exist: make ${missing}, or leave cgroupRoot out`;
    throw new StateletError('FailedPrecondition', message);
  }

  #setUp(): Promise<void> {
    return this.#turns.run(async () => {
      const own = this.#own;
      await own?.above.make();
      const { reserved = [], memoryQoS } = this.#parts;
      const keepsMemory = memoryQoS !== undefined;
      if (own && !this.#isSetUp) await limitReservedGroups(this.#context, reserved, { ...own, keepsMemory });
      this.#isSetUp = true;
    });
  }

  async #makePod(driver: CgroupDriver, group: string): Promise<void> {
    if (await driver.makeBelow(group)) return;
    // There are no groups above it yet, or another process has removed them.
    await this.#setUp();
    await driver.make(group);
  }

  /** Those that exist. After a restart the pod's QoS class is not known. */
  #groupsOf(uid: string): readonly { readonly group: string; readonly layout: QOSCgroups }[] {
    const tree = this.#tree;
    if (!tree) return [];
    const all = this.#layouts.flatMap((layout) =>
      podCgroups(layout, uid).map((group) => ({ group, layout })),
    );
    return all.filter(({ group }) => tree.folders(group).some((folder) => existsSync(folder)));
  }
}

const RESIZED = 'resized';

function foldersOfContainer(podFolder: string, id: string): readonly string[] {
  return subfolders(podFolder)
    .filter((name) => isOfContainer(name, id))
    .map((name) => `${podFolder}/${name}`);
}

/** Whether a group of that name is the container's, or the sandbox's, of either driver. */
function isOfContainer(group: string, id: string): boolean {
  return group === id || group.endsWith(scopeName('-', id));
}

const DRIVERS: readonly CgroupDriverName[] = ['cgroupfs', 'systemd'];

/** The groups of pods that an agent with the other driver has left. Their pods are started anew, as the kubelet does. */
class OtherGroups {
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
    return names.some((name) => isOfContainer(name, sandboxId));
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
