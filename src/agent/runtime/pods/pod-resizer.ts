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
  type ResizedResource,
  withResource,
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
  /** An earlier call may have changed more than is known. */
  readonly isUncertain: boolean;
  hasBegun: boolean;
}

type Limit = 'memoryLimitBytes' | 'cpuQuotaUs';

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
   * Memory first, then CPU. Resolves to why it ended before all was done, if so: what has been done until then is remembered, and a next
   * call goes on from there.
   */
  async resize(request: ResizeRequest, signal: AbortSignal): Promise<string | undefined> {
    const { cgroups, known } = this.#parts;
    const { pod, podStatus, actions } = request;
    // A next agent must know what was granted before it finds containers that have it.
    await known.written(pod.metadata.uid);
    try {
      const actuated = actuatedOf(pod, podStatus) ?? allocationFromPod(pod);
      const current = cgroups.resourcesOf(podAsAllocated(pod, actuated));
      const given = new Map(
        podStatus.containers
          .filter(({ state }) => state === 'running')
          .map(({ id, name, given }) => [
            id,
            given ?? { container: actuated.containers[name] ?? {}, pod: actuated.pod },
          ]),
      );
      const isUncertain = [...given.values()].some((one) => one.isUncertain);
      const wanted = cgroups.resourcesOf(pod);
      const resize = { ...request, wanted, current, given, isUncertain, hasBegun: false };
      this.#refuseBelowUsage(resize);
      for (const resource of ['memory', 'cpu'] as const)
        if (actions.updates[resource].length + actions.restarts.length > 0 || actions.podLevel)
          await this.#resizeOne(resize, resource, signal);
      await this.#remember(resize, given.keys(), (given) => without(given, ['isUncertain']));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return errorMessage(error);
    }
  }

  /** More is given to the pod before its containers may use it, and taken from it when they have given it back. */
  async #resizeOne(resize: Resize, resource: ResizedResource, signal: AbortSignal): Promise<void> {
    const { actions, current, wanted, isUncertain } = resize;
    const limit = LIMITS[resource];
    const [limitBefore, limitAfter] = [amount(current[limit]), amount(wanted[limit] ?? current[limit])];
    const shares = resource === 'cpu' ? (wanted.cpuShares ?? 0) - (current.cpuShares ?? 0) : 0;
    const quota = resource === 'cpu' ? { cpuPeriodUs: wanted.cpuPeriodUs } : {};
    const setLimit = () => this.#write(resize, resource, { [limit]: wanted[limit], ...quota });
    const setShares = () => this.#write(resize, resource, { cpuShares: wanted.cpuShares });
    if (limitAfter > limitBefore) await setLimit();
    if (shares > 0) await setShares();
    for (const update of actions.updates[resource]) {
      signal.throwIfAborted();
      await this.#updateContainer(resize, update, resource);
    }
    if (shares < 0 || (isUncertain && resource === 'cpu')) await setShares();
    if (limitAfter < limitBefore || (isUncertain && wanted[limit] !== undefined)) await setLimit();
    if (actions.podLevel) await this.#rememberPodLevel(resize, resource);
  }

  /** The runtime is told first, and may refuse. If the cgroup cannot be written, it is told that the former values stay. */
  async #write(resize: Resize, resource: ResizedResource, resources: CgroupResources): Promise<void> {
    const { runtime, cgroups } = this.#parts;
    const { pod, sandboxId } = resize;
    const overhead = overheadResources(pod, this.#parts.facts);
    const tell = (told: CgroupResources) =>
      runtime.updatePodSandboxResources(sandboxId, { overhead, resources: withoutOverhead(told, overhead) });
    const merged = { ...resize.current, ...resources };
    try {
      await tell(merged);
    } catch (error) {
      const what = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected`;
      throw new Error(`${what}: ${runtimeMessage(error)}`, { cause: error });
    }
    await this.#begin(resize);
    try {
      await cgroups.resize(pod, resources);
    } catch (error) {
      await tell(resize.current).catch(() => undefined);
      throw error;
    }
    resize.current = merged;
  }

  /** In the pass of memory it keeps its CPU, and then its new memory. */
  async #updateContainer(
    resize: Resize,
    { id, container, current, desired }: ContainerUpdate,
    resource: ResizedResource,
  ): Promise<void> {
    const { runtime, facts, cpus } = this.#parts;
    const { pod } = resize;
    const { memoryRequest, memoryLimit } = desired;
    // Zeros leave the quota as it is: a container with CPUs of its own has none.
    const isExclusive = (cpus?.exclusive(pod.metadata.uid, container.name) ?? []).length > 0;
    const amounts = resource === 'memory' ? { ...current, memoryRequest, memoryLimit } : desired;
    const resources = containerResources(
      pod,
      containerOf(container, amounts),
      isExclusive ? { ...facts, cpuCFSQuota: false } : facts,
    );
    await this.#begin(resize);
    await runtime.updateContainerResources(id, resources);
    await this.#remember(resize, [id], (before) => ({
      ...before,
      container: withResource(before.container, container.resources, resource),
    }));
  }

  #rememberPodLevel(resize: Resize, resource: ResizedResource): Promise<void> {
    const { resources } = resize.pod.spec;
    return this.#remember(resize, resize.given.keys(), (before) => ({
      ...before,
      pod: withResource(before.pod, resources, resource),
    }));
  }

  /**
   * Until all is done, the next agent cannot know what has been: a call that has failed, or was cut short by the death of this agent, may have
   * been carried out. All of it is told again then, also where the pod is to have again what it had.
   */
  async #begin(resize: Resize): Promise<void> {
    if (resize.hasBegun) return;
    resize.hasBegun = true;
    const { updates, podLevel } = resize.actions;
    const changed = [...updates.memory, ...updates.cpu].map(({ id }) => id);
    const ids = podLevel ? resize.given.keys() : new Set(changed);
    await this.#remember(resize, ids, (before) => ({ ...before, isUncertain: true }));
  }

  async #remember(
    { pod, given }: Resize,
    ids: Iterable<string>,
    change: (before: GivenResources) => GivenResources,
  ): Promise<void> {
    for (const id of ids) {
      const before = given.get(id) ?? { container: {} };
      const after = change(before);
      given.set(id, after);
      if (!equalJson(before, after)) await this.#parts.known.note(pod.metadata.uid, id, { given: after });
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

/** 0: no limit. */
function isLower(before: number, after: number): boolean {
  return after !== 0 && (before === 0 || after < before);
}

function problem(what: string, limitBytes: number, usageBytes: number | undefined): readonly string[] {
  if (usageBytes === undefined) return [`missing ${what} memory usage`];
  if (usageBytes < limitBytes) return [];
  return [`attempting to set ${what} memory limit (${limitBytes}) below current usage (${usageBytes})`];
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
