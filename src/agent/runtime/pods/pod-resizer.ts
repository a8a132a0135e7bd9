/** Changes the CPU and memory of pods that run: their cgroups and, by the runtime, those of their containers. */
import type { CgroupResources } from '../../policies/cgroups/cgroup-resources.ts';
import {
  type ContainerResourceFacts,
  changesSwap,
  containerResources,
  overheadResources,
} from '../../policies/cri/linux-resources.ts';
import { equalJson, without } from '../../policies/formats/canonical-json.ts';
import { allocationFromPod, changesGuaranteed, podAsAllocated } from '../../policies/resize/allocation.ts';
import {
  actuatedOf,
  containerOf,
  type ContainerUpdate,
  inOneOrder,
  type ResizedResource,
  withResources,
} from '../../policies/resize/resize-actions.ts';
import type { LinuxContainerResources } from '../../../types/cri.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { GivenResources, PodAllocation } from '../../../types/runtime-pod.ts';
import type { CpuAssignments } from '../cpus/cpu-manager.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import type { InfeasibleResize, Resizer, ResizeRequest } from '../node/pod-node.ts';
import { type ResizingRuntime, runtimeMessage } from '../service/runtime-service.ts';
import type { KnownContainers } from './known-containers.ts';

export interface PodResizerParts {
  readonly runtime: ResizingRuntime;
  readonly cgroups: Pick<PodCgroups, 'resourcesOf' | 'resize' | 'memoryUsage'>;
  readonly facts: ContainerResourceFacts;
  /** Containers of Guaranteed pods may have CPUs for themselves. */
  readonly cpus?: Pick<CpuAssignments, 'exclusive'> | undefined;
  /** Containers of Guaranteed pods may have memory of certain NUMA nodes. */
  readonly hasOwnMemory?: boolean;
  readonly known: Pick<KnownContainers, 'note' | 'allocation' | 'allocate' | 'written'>;
}

/** A resize that is being carried out. */
interface Resize extends ResizeRequest {
  /** What the pod's cgroup is to have. */
  readonly wanted: CgroupResources;
  /** What it has: each write that has succeeded is in it. */
  current: CgroupResources;
  /** By the id of each container that runs. */
  readonly given: Map<string, GivenResources>;
  /** IDs of containers of which an earlier call may have changed more than is known. */
  readonly uncertain: ReadonlySet<string>;
  hasBegun: boolean;
  /** The container of which a call is under way, or has failed. */
  updating?: string | undefined;
  /** What each call has changed, written while the next ones are made. */
  noted: Promise<void>;
}

type Limit = 'memoryLimitBytes' | 'cpuQuotaUs';

const RESOURCES = ['memory', 'cpu'] as const satisfies readonly ResizedResource[];

const LIMITS: Readonly<Record<ResizedResource, Limit>> = { memory: 'memoryLimitBytes', cpu: 'cpuQuotaUs' };

export class PodResizer implements Resizer {
  readonly #parts: PodResizerParts;

  constructor(parts: PodResizerParts) {
    this.#parts = parts;
  }

  allocation(uid: string): PodAllocation | undefined {
    return this.#parts.known.allocation(uid);
  }

  allocate(uid: string, allocation: PodAllocation): Promise<void> {
    return this.#parts.known.allocate(uid, allocation);
  }

  refusal(desired: Pod, allocated: Pod): InfeasibleResize | undefined {
    const { facts, cpus, hasOwnMemory = false } = this.#parts;
    if (changesSwap(desired, allocated, facts))
      return {
        detail: 'swap_limitation',
        message: 'In-place resize of containers with swap is not supported.',
      };
    const isWith = (manager: string) => `Resize is infeasible for Guaranteed Pods alongside ${manager}`;
    if (cpus && changesGuaranteed(desired, allocated, 'cpu'))
      return {
        detail: 'guaranteed_pod_cpu_manager_static_policy',
        message: isWith('CPU Manager policy "static"'),
      };
    if (hasOwnMemory && changesGuaranteed(desired, allocated, 'memory'))
      return {
        detail: 'guaranteed_pod_memory_manager_static_policy',
        message: isWith('Memory Manager policy "Static"'),
      };
    return undefined;
  }

  /**
   * Resolves to why it ended before all was done, if so: what has been done until then is remembered, and a next call goes on from there.
   */
  async resize(request: ResizeRequest, signal: AbortSignal): Promise<string | undefined> {
    const resize = this.#plan(request);
    const { given } = resize;
    try {
      this.#refuseBelowUsage(resize);
      this.#expectChanges(resize);
      await this.#carryOut(resize, signal);
      this.#note(resize, given.keys(), certain);
      await resize.noted;
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      // The resources of the others are certain. Where the pod's own cgroup has failed, everything is sent again.
      const { updating, uncertain, hasBegun } = resize;
      const others = [...given.keys()].filter((id) => id !== updating && !uncertain.has(id));
      this.#note(resize, hasBegun && updating === undefined ? [] : others, certain);
      await resize.noted;
      return errorMessage(error);
    }
  }

  #plan(request: ResizeRequest): Resize {
    const { cgroups } = this.#parts;
    const { pod, podStatus } = request;
    const actuated = actuatedOf(pod, podStatus) ?? allocationFromPod(pod);
    const given = new Map(
      podStatus.containers
        .filter(({ state }) => state === 'running')
        .map(({ id, name, given }) => [
          id,
          given ?? { container: actuated.containers[name] ?? {}, pod: actuated.pod },
        ]),
    );
    return {
      ...request,
      wanted: cgroups.resourcesOf(pod),
      current: cgroups.resourcesOf(podAsAllocated(pod, actuated)),
      given,
      uncertain: new Set([...given].flatMap(([id, { isUncertain }]) => (isUncertain ? id : []))),
      hasBegun: false,
      // A next agent must know what was granted before it finds containers that have it.
      noted: this.#parts.known.written(pod.metadata.uid),
    };
  }

  /**
   * A call to a runtime takes long, so a container gets one call with all changes. The kubelet makes one for memory, and then one for CPU. This
   * agent does so where one may succeed without the other: if the pod does not get the CPU, or a call for the container has failed.
   */
  async #carryOut(resize: Resize, signal: AbortSignal): Promise<void> {
    const { updates, restarts, podLevel } = resize.actions;
    const resources = RESOURCES.filter(
      (resource) => podLevel || updates[resource].length + restarts.length > 0,
    );
    const together = resize.uncertain.size === 0 ? inOneOrder(updates) : undefined;
    if (resources.length > 1 && together !== undefined) {
      await this.#raise(resize, 'memory');
      const hasCpu = await this.#raise(resize, 'cpu').then(
        () => true,
        () => false,
      );
      if (hasCpu) return this.#resizeAtOnce(resize, together, resources, signal);
    }
    for (const resource of resources) await this.#resizeAtOnce(resize, updates[resource], [resource], signal);
  }

  /** More is given to the pod before its containers may use it, and taken from it when they have given it back. */
  async #resizeAtOnce(
    resize: Resize,
    updates: readonly ContainerUpdate[],
    resources: readonly ResizedResource[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const resource of resources) await this.#raise(resize, resource);
    for (const update of updates) {
      signal.throwIfAborted();
      await this.#updateContainer(resize, update, resources);
    }
    for (const resource of resources) await this.#lower(resize, resource);
    if (!resize.actions.podLevel) return;
    const allocated = resize.pod.spec.resources;
    this.#note(resize, resize.given.keys(), (before) => ({
      ...before,
      pod: withResources(before.pod, allocated, resources),
    }));
  }

  async #raise(resize: Resize, resource: ResizedResource): Promise<void> {
    const { limit, shares } = changesOfPod(resize, resource);
    if (limit > 0) await this.#writeLimit(resize, resource);
    if (shares > 0) await this.#writeShares(resize);
  }

  async #lower(resize: Resize, resource: ResizedResource): Promise<void> {
    const { limit, shares } = changesOfPod(resize, resource);
    const isUncertain = resize.uncertain.size > 0;
    const hasLessShares = shares < 0 || (isUncertain && resource === 'cpu');
    const hasLess = limit < 0 || (isUncertain && resize.wanted[LIMITS[resource]] !== undefined);
    // A next agent would else not know that the pod must get more before its containers do.
    if (hasLessShares || hasLess) await resize.noted;
    if (hasLessShares) await this.#writeShares(resize);
    if (hasLess) await this.#writeLimit(resize, resource);
  }

  #writeLimit(resize: Resize, resource: ResizedResource): Promise<void> {
    const { memoryLimitBytes, cpuQuotaUs, cpuPeriodUs } = resize.wanted;
    return this.#write(
      resize,
      resource,
      resource === 'memory' ? { memoryLimitBytes } : { cpuQuotaUs, cpuPeriodUs },
    );
  }

  #writeShares(resize: Resize): Promise<void> {
    return this.#write(resize, 'cpu', { cpuShares: resize.wanted.cpuShares });
  }

  /** The runtime gets the values first, and may refuse. If the cgroup cannot be written, it gets the former values again. */
  async #write(resize: Resize, resource: ResizedResource, resources: CgroupResources): Promise<void> {
    const { runtime, cgroups } = this.#parts;
    const { pod, sandboxId } = resize;
    const overhead = overheadResources(pod, this.#parts.facts);
    const updateSandbox = (values: CgroupResources) =>
      runtime.updatePodSandboxResources(sandboxId, {
        overhead,
        resources: withoutOverhead(values, overhead),
      });
    const merged = { ...resize.current, ...resources };
    try {
      await updateSandbox(merged);
    } catch (error) {
      const what = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected`;
      throw new Error(`${what}: ${runtimeMessage(error)}`, { cause: error });
    }
    await this.#begin(resize);
    try {
      await cgroups.resize(pod, resources);
    } catch (error) {
      await updateSandbox(resize.current).catch(() => undefined);
      throw error;
    }
    resize.current = merged;
  }

  /** With memory alone it keeps its CPU. */
  async #updateContainer(
    resize: Resize,
    { id, container, current, desired }: ContainerUpdate,
    changed: readonly ResizedResource[],
  ): Promise<void> {
    const { runtime, facts, cpus } = this.#parts;
    const { pod } = resize;
    const { memoryRequest, memoryLimit } = desired;
    // Zeros leave the quota as it is: a container with CPUs of its own has none.
    const isExclusive = (cpus?.exclusive(pod.metadata.uid, container.name) ?? []).length > 0;
    const amounts = changed.includes('cpu') ? desired : { ...current, memoryRequest, memoryLimit };
    const resources = containerResources(
      pod,
      containerOf(container, amounts),
      isExclusive ? { ...facts, cpuCFSQuota: false } : facts,
    );
    await this.#begin(resize);
    resize.updating = id;
    await runtime.updateContainerResources(id, resources);
    resize.updating = undefined;
    this.#note(resize, [id], (before) => ({
      ...before,
      container: withResources(before.container, container.resources, changed),
    }));
  }

  /**
   * Until all is done, the next agent cannot know what has been done: a call that has failed, or was cut short by the death of this agent, may have
   * been carried out. Then all calls are made again, also where the pod is to have its former resources again. The runtime's call for the pod may
   * be made while this is written.
   */
  #expectChanges(resize: Resize): void {
    const { updates, podLevel } = resize.actions;
    const changed = [...updates.memory, ...updates.cpu].map(({ id }) => id);
    const ids = podLevel ? resize.given.keys() : new Set(changed);
    this.#note(resize, ids, (before) => ({ ...before, isUncertain: true }));
  }

  async #begin(resize: Resize): Promise<void> {
    if (!resize.hasBegun) await resize.noted;
    resize.hasBegun = true;
  }

  /** One after the other. */
  #note(resize: Resize, ids: Iterable<string>, change: (before: GivenResources) => GivenResources): void {
    const { pod, given } = resize;
    for (const id of ids) {
      const before = given.get(id) ?? { container: {} };
      const after = change(before);
      given.set(id, after);
      if (equalJson(before, after)) continue;
      resize.noted = resize.noted.then(() => this.#parts.known.note(pod.metadata.uid, id, { given: after }));
    }
  }

  /** The kernel would end processes, or refuse: a memory limit that is new or lower must be above what is used now. */
  #refuseBelowUsage({ pod, actions, current, wanted }: Resize): void {
    if (actions.updates.memory.length + actions.restarts.length === 0) return;
    const { uid } = pod.metadata;
    const limit = wanted.memoryLimitBytes;
    const isPodLower =
      limit !== undefined && (current.memoryLimitBytes === undefined || limit < current.memoryLimitBytes);
    const problems = [
      ...(isPodLower ? problem('pod', Number(limit), this.#parts.cgroups.memoryUsage(uid)) : []),
      ...actions.updates.memory
        .filter(({ current: from, desired: to }) => isLower(from.memoryLimit, to.memoryLimit))
        .flatMap(({ id, container, desired }) =>
          problem(
            `container "${container.name}"`,
            desired.memoryLimit,
            this.#parts.cgroups.memoryUsage(uid, id),
          ),
        ),
    ];
    if (problems.length === 0) return;
    const all = problems.length === 1 ? problems.join() : `[${problems.join(', ')}]`;
    throw new Error(`cannot decrease memory limits: ${all}`);
  }
}

const certain = (given: GivenResources): GivenResources => without(given, ['isUncertain']);

/** 0: no limit. */
function isLower(before: number, after: number): boolean {
  return after !== 0 && (before === 0 || after < before);
}

function problem(what: string, limitBytes: number, usageBytes: number | undefined): readonly string[] {
  if (usageBytes === undefined) return [`missing ${what} memory usage`];
  if (usageBytes < limitBytes) return [];
  return [`attempting to set ${what} memory limit (${limitBytes}) below current usage (${usageBytes})`];
}

/** What the pod's cgroup is to have more of, above zero, or less, below. */
function changesOfPod({ current, wanted }: Resize, resource: ResizedResource) {
  const limit = LIMITS[resource];
  return {
    limit: amount(wanted[limit] ?? current[limit]) - amount(current[limit]),
    shares: resource === 'cpu' ? (wanted.cpuShares ?? 0) - (current.cpuShares ?? 0) : 0,
  };
}

/** A missing limit counts as the largest. */
function amount(limit: bigint | number | undefined): number {
  return limit === undefined || limit < 0 ? Infinity : Number(limit);
}

function withoutOverhead(
  { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes }: CgroupResources,
  overhead: Partial<LinuxContainerResources>,
): Partial<LinuxContainerResources> {
  const less = (value: number | undefined, by = 0) => (value !== undefined && value > 0 ? value - by : value);
  return {
    cpuShares: less(cpuShares, overhead.cpuShares),
    cpuQuota: less(cpuQuotaUs, overhead.cpuQuota),
    cpuPeriod: cpuPeriodUs,
    memoryLimitInBytes: less(
      memoryLimitBytes === undefined ? undefined : Number(memoryLimitBytes),
      overhead.memoryLimitInBytes,
    ),
  };
}
