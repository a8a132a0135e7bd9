/** The calls that give the running containers of a pod their allocated resources. */
import type { Container, Pod, ResourceRequirements } from '../../../types/kubernetes.ts';
import type { PodAllocation, RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { equalJson, only, without } from '../formats/canonical-json.ts';
import { milliValue, type Quantity, quantityValue } from '../formats/quantity.ts';
import { containerStatusByName, isRestartableInitContainer } from '../pod-actions/restart.ts';
import { amountIn, limitOr, type ResourceList } from '../pod/resources.ts';
import { allocationFromPod, withoutEmpty } from './allocation.ts';

const FIELDS = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit'] as const;

type Amounts<T> = Readonly<Record<(typeof FIELDS)[number], T>>;

/** CPU in thousandths of a core, memory in bytes; 0 for none. */
export type ResourceAmounts = Amounts<number>;

export interface ContainerUpdate {
  readonly id: string;
  readonly container: Container;
  readonly current: ResourceAmounts;
  readonly desired: ResourceAmounts;
}

export interface ContainerRestart {
  readonly id: string;
  readonly container: Container;
  readonly isInit: boolean;
}

export type ResizedResource = 'memory' | 'cpu';

export interface ResizeActions {
  /** In the order of the calls: containers that get less come before those that get more. */
  readonly updates: Readonly<Record<ResizedResource, readonly ContainerUpdate[]>>;
  /** Containers that restart because of their resizePolicy. */
  readonly restarts: readonly ContainerRestart[];
  /** Whether the resources of the pod itself have changed. */
  readonly podLevel: boolean;
}

interface Running {
  readonly container: Container;
  readonly status: RuntimeContainerStatus;
  readonly isInit: boolean;
}

/**
 * `actuated`: the values that the runtime was last given. A container without a record counts as one without resources. `pod`: as
 * allocated. Containers that do not run get their values when they start.
 */
export function computeResizeActions(
  pod: Pod,
  podStatus: RuntimePodStatus,
  actuated: PodAllocation,
): ResizeActions {
  const updates: Record<ResizedResource, ContainerUpdate[]> = { memory: [], cpu: [] };
  const restarts: ContainerRestart[] = [];
  for (const { container, status, isInit } of runningContainers(pod, podStatus)) {
    const current = amounts(recordOf(actuated, container.name), actuated.pod);
    const desired = amounts(container.resources, pod.spec.resources);
    const change = { id: status.id, container, current, desired };
    const { memory, cpu } = changesOf(change);
    if ((memory !== 0 && restartsFor(container, 'memory')) || (cpu !== 0 && restartsFor(container, 'cpu'))) {
      restarts.push({ id: status.id, container, isInit });
      continue;
    }
    // If it is uncertain which values the container has, it is updated even to the same values.
    const otherwise = status.given?.isUncertain ? 1 : 0;
    queue(updates.memory, change, memory === 0 ? otherwise : memory);
    queue(updates.cpu, change, cpu === 0 ? otherwise : cpu);
  }
  return { updates, restarts, podLevel: !equalAmounts(amounts(pod.spec.resources), amounts(actuated.pod)) };
}

/**
 * Each container once, so that for both resources those that get less come before those that get more. Undefined if there is no
 * such order: one gets less memory and more CPU, another one the reverse.
 */
export function inOneOrder({
  memory,
  cpu,
}: ResizeActions['updates']): readonly ContainerUpdate[] | undefined {
  const updates = new Map([...memory, ...cpu].map((update) => [update.id, update])).values();
  const changes = [...updates].map((update) => ({ update, ...changesOf(update) }));
  const gives = (given: ResizedResource, taken: ResizedResource) =>
    changes.some((change) => change[given] < 0 && change[taken] > 0);
  if (gives('memory', 'cpu') && gives('cpu', 'memory')) return undefined;
  const rank = (change: (typeof changes)[number]) => Math.sign(change.memory) + Math.sign(change.cpu);
  return changes.toSorted((one, other) => rank(one) - rank(other)).map(({ update }) => update);
}

export const NO_RESIZE: ResizeActions = { updates: { memory: [], cpu: [] }, restarts: [], podLevel: false };

/**
 * The pod with the values that its running containers were last given; undefined if these are the allocated ones. `pod`: as
 * allocated. A container without a record counts as one with its allocated values.
 */
export function actuatedOf(pod: Pod, podStatus: RuntimePodStatus): PodAllocation | undefined {
  const allocation = allocationFromPod(pod);
  const running = podStatus.containers.filter(({ state, given }) => state === 'running' && given);
  const isOther = running.some(
    ({ name, given }) =>
      given?.isUncertain === true ||
      !equalJson(given?.container, allocation.containers[name]) ||
      !equalJson(given?.pod, allocation.pod),
  );
  if (!isOther) return undefined;
  const own = running.map(({ name, given }) => [name, given?.container ?? {}] as const);
  return {
    containers: { ...allocation.containers, ...Object.fromEntries(own) },
    pod: running[0]?.given?.pod,
  };
}

/** Whether running containers, or the cgroup of the pod, must change. Restarts do not count. */
export function changesRunning({ updates, restarts, podLevel }: ResizeActions): boolean {
  return updates.memory.length + updates.cpu.length + restarts.length > 0 || podLevel;
}

/** Whether a running container, or the pod itself, does not have its allocated values yet. `pod`: as allocated. */
export function isResizeInProgress(pod: Pod, podStatus: RuntimePodStatus, actuated: PodAllocation): boolean {
  const { resources } = pod.spec;
  const isOfContainers = runningContainers(pod, podStatus).some(({ container, status }) => {
    const allocated = quantities(container.resources, resources);
    const has = quantities(recordOf(actuated, container.name));
    return status.given?.isUncertain === true || !equalQuantities(allocated, has);
  });
  if (isOfContainers) return true;
  if (resources === undefined || actuated.pod === undefined) return false;
  return !equalQuantities(quantities(resources), quantities(actuated.pod));
}

/** Sidecars, in the order of the spec, and then the regular containers. Other init containers are not resized while they run. */
function runningContainers({ spec }: Pod, podStatus: RuntimePodStatus): readonly Running[] {
  const sidecars = (spec.initContainers ?? []).filter(isRestartableInitContainer);
  const running = (container: Container, isInit: boolean): Running[] => {
    const status = containerStatusByName(podStatus, container.name);
    return status?.state === 'running' ? [{ container, status, isInit }] : [];
  };
  return [
    ...sidecars.flatMap((container) => running(container, true)),
    ...spec.containers.flatMap((container) => running(container, false)),
  ];
}

function recordOf({ containers }: PodAllocation, name: string): ResourceRequirements | undefined {
  return Object.hasOwn(containers, name) ? containers[name] : undefined;
}

/** A container without a limit has the pod's limit. */
function quantities(own: ResourceRequirements = {}, pod?: ResourceRequirements): Amounts<Quantity> {
  return {
    cpuRequest: amountIn(own.requests, 'cpu'),
    cpuLimit: limitOr(own.limits?.cpu, pod?.limits?.cpu),
    memoryRequest: amountIn(own.requests, 'memory'),
    memoryLimit: limitOr(own.limits?.memory, pod?.limits?.memory),
  };
}

function amounts(own: ResourceRequirements | undefined, pod?: ResourceRequirements): ResourceAmounts {
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit } = quantities(own, pod);
  return {
    cpuRequest: Number(milliValue(cpuRequest)),
    cpuLimit: Number(milliValue(cpuLimit)),
    memoryRequest: Number(quantityValue(memoryRequest)),
    memoryLimit: Number(quantityValue(memoryLimit)),
  };
}

function equalQuantities(one: Amounts<Quantity>, other: Amounts<Quantity>): boolean {
  return FIELDS.every((field) => one[field].nanos === other[field].nanos);
}

function equalAmounts(one: ResourceAmounts, other: ResourceAmounts): boolean {
  return FIELDS.every((field) => one[field] === other[field]);
}

/** Above zero if the container gets more, below zero if less. The limit decides, or the request if the limit stays. */
function changesOf({ current, desired }: ContainerUpdate): Readonly<Record<ResizedResource, number>> {
  return {
    memory: desired.memoryLimit - current.memoryLimit || desired.memoryRequest - current.memoryRequest,
    cpu: desired.cpuLimit - current.cpuLimit || desired.cpuRequest - current.cpuRequest,
  };
}

function queue(updates: ContainerUpdate[], update: ContainerUpdate, change: number): void {
  if (change < 0) updates.unshift(update);
  else if (change > 0) updates.push(update);
}

/** Whether a change of the resource restarts the container. */
export function restartsFor({ resizePolicy = [] }: Container, resource: ResizedResource): boolean {
  return (
    resizePolicy.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer'
  );
}

/** The container's amounts after the update. */
export function withResources(
  given: ResourceRequirements | undefined,
  allocated: ResourceRequirements | undefined,
  resources: readonly ResizedResource[],
): ResourceRequirements {
  const list = (field: 'requests' | 'limits') => ({
    ...without(given?.[field] ?? {}, resources),
    ...only(allocated?.[field] ?? {}, resources),
  });
  return withoutEmpty({ ...allocated, limits: list('limits'), requests: list('requests') });
}

/** The container with these amounts as its resources. As when it is created, a missing CPU request is the CPU limit. */
export function containerOf(container: Container, amounts: ResourceAmounts): Container {
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit } = amounts;
  const { requests = {}, limits = {} } = container.resources ?? {};
  const others = (list: ResourceList) => without(list, ['cpu', 'memory']);
  const resources = {
    requests: { ...others(requests), ...listOf(cpuRequest, memoryRequest) },
    limits: { ...others(limits), ...listOf(cpuLimit, memoryLimit) },
  };
  return { ...container, resources };
}

function listOf(milliCPU: number, memoryBytes: number): ResourceList {
  return {
    ...(milliCPU > 0 && { cpu: `${milliCPU}m` }),
    ...(memoryBytes > 0 && { memory: `${memoryBytes}` }),
  };
}
