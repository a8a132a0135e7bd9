import { existsSync, readdirSync } from 'node:fs';
import { namedCgroup, type QOSCgroups } from '../../policies/cgroups/cgroup-names.ts';
import {
  burstableCPUShares,
  type CgroupResources,
  classResources,
  type ClassResources,
  kubepodsResources,
} from '../../policies/cgroups/cgroup-resources.ts';
import { type CgroupValue, cgroupValues, isHugetlbLimit } from '../../policies/cgroups/cgroup-values.ts';
import type { MemoryQoS } from '../../policies/cgroups/memory-qos.ts';
import type { ReservedGroup } from '../../policies/node/node-allocatable.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { readSmallFile } from '../stats/small-files.ts';
import type { CgroupDriver } from './cgroup-driver.ts';
import type { CgroupTree } from './cgroup-tree.ts';
import { delegateControllers } from './delegation.ts';
import { refusedLimits } from './refused-limits.ts';

/** Pods have limits of huge pages of their own; the groups above them must not be in the way. */
const UNBOUNDED: CgroupResources = { hugePageLimits: 'unbounded' };

const ONLINE_CPUS = '/sys/devices/system/cpu/online';

export interface QOSGroupsParts {
  readonly tree: CgroupTree;
  readonly driver: CgroupDriver;
  readonly groups: QOSCgroups;
  /** Controllers without which pods cannot be limited as they are to be. */
  readonly needed: readonly string[];
  /** The CPU, memory and `pid` that all pods together may use. */
  readonly allocatable: () => ResourceList;
  /** Undefined where the feature is off. */
  readonly memoryQoS: MemoryQoS | undefined;
}

/** The groups above those of pods: of all pods, and of the QoS classes. */
export class QOSGroups {
  readonly #context: AgentContext;
  readonly #parts: QOSGroupsParts;
  /** Whether the limits of all pods together have been written. Undefined: this was not tried yet. */
  #isEnforced: boolean | undefined;
  #hugetlbFiles: readonly string[] = [];
  #ofPods: ClassResources;
  /** What of that was last written into each group. */
  readonly #written = new Map<string, string>();

  constructor(context: AgentContext, parts: QOSGroupsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#ofPods = classResources([], parts.memoryQoS);
  }

  /** The names of the kernel's files for limits of huge pages; empty before the groups are made. */
  get hugetlbFiles(): readonly string[] {
    return this.#hugetlbFiles;
  }

  async make(): Promise<void> {
    const { tree, groups } = this.#parts;
    const { kubepods, byClass } = groups;
    const isNew = await this.#makeGroup(kubepods);
    if (tree.has('hugetlb')) {
      this.#hugetlbFiles = readdirSync(tree.folder('hugetlb', kubepods)).filter(isHugetlbLimit);
    }
    await this.#enforceAllocatable();
    // A group that existed before already has the values that follow from the pods, or `update` writes them.
    await this.#write(kubepods, { ...(isNew && this.#ofPods.kubepods), ...UNBOUNDED });
    await this.#makeGroup(byClass.BestEffort);
    await this.#write(byClass.BestEffort, { cpuShares: burstableCPUShares([]), ...UNBOUNDED });
    const isNewClass = await this.#makeGroup(byClass.Burstable);
    await this.#write(byClass.Burstable, { ...(isNewClass && this.#ofPods.burstable), ...UNBOUNDED });
  }

  /** Writes what follows from all pods that may run: the shares of the burstable ones, and the memory that is kept for them. */
  async update(pods: Iterable<Pod>): Promise<void> {
    const { groups, memoryQoS } = this.#parts;
    if (this.#isEnforced === false) await this.#enforceAllocatable();
    this.#ofPods = classResources([...pods], memoryQoS);
    await this.#writeChanged(groups.kubepods, this.#ofPods.kubepods);
    await this.#writeChanged(groups.byClass.Burstable, this.#ofPods.burstable);
    if (this.#ofPods.kept) this.#context.measurements?.memoryKept(this.#ofPods.kept);
  }

  /** Pods that run already may use more memory than pods may have now. Then the limits are tried again with each `update`. */
  async #enforceAllocatable(): Promise<void> {
    const { tree, driver, groups, allocatable } = this.#parts;
    // Without this systemd does not know that the group is to have the controller, and takes it away.
    const cpus = driver.name === 'systemd' ? readSmallFile(ONLINE_CPUS)?.trim() : undefined;
    const all = cgroupValues(tree.version, { ...kubepodsResources(allocatable()), cpus });
    const values = all.filter((value) => this.#isNeeded(value) || tree.offers(groups.kubepods, value));
    const refusals = await refusedLimits(tree, driver, groups.kubepods, values);
    const wasEnforced = this.#isEnforced;
    this.#isEnforced = refusals.length === 0;
    if (this.#isEnforced !== wasEnforced) this.#reportEnforced(refusals);
  }

  #reportEnforced(refusals: readonly string[]): void {
    const { recorder } = this.#context;
    if (refusals.length === 0) {
      recorder.nodeEvent('Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
      return;
    }
    const message = `Failed to update Node Allocatable Limits: ${refusals.join('; ')}`;
    recorder.nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
  }

  #isNeeded({ controller }: CgroupValue): boolean {
    return this.#parts.needed.includes(controller);
  }

  /** Returns whether the group is new. */
  async #makeGroup(group: string): Promise<boolean> {
    const { tree, driver, needed } = this.#parts;
    const isNew = await driver.make(group);
    delegateControllers(tree, group, needed);
    if (isNew) this.#written.delete(group);
    return isNew;
  }

  async #write(group: string, resources: CgroupResources): Promise<void> {
    const { tree, driver } = this.#parts;
    await driver.write(group, cgroupValues(tree.version, resources, this.#hugetlbFiles));
  }

  async #writeChanged(group: string, resources: CgroupResources): Promise<void> {
    const { tree, driver } = this.#parts;
    const values = cgroupValues(tree.version, resources);
    const written = JSON.stringify(values);
    if (values.length === 0 || this.#written.get(group) === written) return;
    const end = this.#context.measurements?.cgroupOperation('update');
    await driver.write(group, values);
    this.#written.set(group, written);
    end?.();
  }
}

export interface ReservedLimits {
  readonly tree: CgroupTree;
  readonly driver: CgroupDriver;
  /** Whether the kernel keeps for daemons the memory that is reserved: the feature MemoryQoS. */
  readonly keepsMemory?: boolean;
}

/** Limits cgroups of daemons to what is reserved for them. Rejects as FailedPrecondition for one that does not exist. */
export async function limitReservedGroups(
  { recorder }: AgentContext,
  reserved: readonly ReservedGroup[],
  { tree, driver, keepsMemory = false }: ReservedLimits,
): Promise<void> {
  for (const { title, field, name, limits } of reserved) {
    try {
      const group = namedCgroup(name, driver.name);
      const resources = kubepodsResources(limits);
      const { memoryLimitBytes } = resources;
      const kept = keepsMemory && memoryLimitBytes !== undefined ? { memoryMinBytes: memoryLimitBytes } : {};
      const values = cgroupValues(tree.version, { ...resources, ...kept });
      const missing = values
        .map(({ controller }) => tree.folder(controller, group))
        .find((path) => !existsSync(path));
      if (missing !== undefined) throw notThere(field, name, missing);
      await driver.write(group, values);
    } catch (error) {
      const what = `${title[0]?.toUpperCase() ?? ''}${title.slice(1)}`;
      const message = `Failed to enforce ${what} Cgroup Limits on "${name}": ${errorMessage(error)}`;
      recorder.nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new StateletError(errorKind(error), message, { cause: error });
    }
    recorder.nodeEvent('Normal', 'NodeAllocatableEnforced', `Updated limits on ${title} cgroup ${name}`);
  }
}

function notThere(field: string, name: string, missing: string): StateletError {
  const mend = `make it (with systemd: a slice that is started before this agent), or name another group as ${field}`;
  return new StateletError(
    'FailedPrecondition',
    `${field} "${name}" does not exist (there is no ${missing}): ${mend}`,
  );
}
