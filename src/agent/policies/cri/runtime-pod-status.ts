/** The runtime's status of a pod, in the kubelet's terms. */
import type {
  ContainerStateName,
  ContainerStatus,
  LinuxContainerResources,
  PodSandboxStatus,
} from '../../../types/cri.ts';
import type {
  GivenResources,
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimeLimits,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../../types/runtime-pod.ts';
import { isAllocation } from '../resize/allocation.ts';
import {
  CONTAINER_HASH_ANNOTATION,
  DEVICES_ANNOTATION,
  POST_START_ANNOTATION,
  RESOURCES_ANNOTATION,
} from './cri-labels.ts';

/** The kubelet's names for the states of CRI. */
export const RUNTIME_STATES: Readonly<Record<ContainerStateName, RuntimeContainerState>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

const NS_PER_MS = 1e6;
const toMs = (unixNs: number): number => Math.floor(unixNs / NS_PER_MS);

/**
 * A pod's sandboxes and containers. `observedAt` is when the runtime was asked. Sandboxes come newest first. Containers that
 * run come first, then those that have ended, then those that were created and never started, each newest first: an instance
 * that is created late must not hide one that runs or has completed.
 */
export function runtimePodStatus(
  pod: { readonly uid: string; readonly name: string; readonly namespace: string },
  sandboxes: readonly PodSandboxStatus[],
  containers: readonly ContainerStatus[],
  observedAt: number,
): RuntimePodStatus {
  return {
    ...pod,
    sandboxes: sandboxes.map(sandboxView).sort(newestFirst),
    containers: containers
      .map(containerView)
      .sort((a, b) => RANKS[a.state] - RANKS[b.state] || newestFirst(a, b)),
    observedAt,
  };
}

export function emptyRuntimePodStatus(
  pod: { readonly uid: string; readonly name: string; readonly namespace: string },
  observedAt: number,
): RuntimePodStatus {
  return { ...pod, sandboxes: [], containers: [], observedAt };
}

/** Whether a container of the pod runs, or a sandbox is ready (I3). */
export function isRunning(status: RuntimePodStatus): boolean {
  return (
    status.sandboxes.some((sandbox) => sandbox.ready) ||
    status.containers.some((container) => container.state === 'running' || container.state === 'unknown')
  );
}

export function isEmpty(status: RuntimePodStatus): boolean {
  return status.sandboxes.length === 0 && status.containers.length === 0;
}

/** How the kubelet sees a sandbox of CRI. */
export function sandboxView(sandbox: PodSandboxStatus): RuntimeSandboxStatus {
  return {
    id: sandbox.id,
    ready: sandbox.state === 'SANDBOX_READY',
    attempt: sandbox.metadata.attempt,
    createdAt: toMs(sandbox.createdAt),
    ...allocatedIn(sandbox),
    networkMode: sandbox.networkMode ?? 'POD',
    ip: sandbox.network?.ip,
    ...addresses(sandbox),
  };
}

function addresses({ network }: PodSandboxStatus): { readonly ips?: readonly string[] } {
  if (!network?.ip) return {};
  return { ips: [network.ip, ...(network.additionalIps ?? [])] };
}

function containerView(container: ContainerStatus): RuntimeContainerStatus {
  const devices = container.annotations[DEVICES_ANNOTATION];
  return {
    id: container.id,
    name: container.metadata.name,
    state: RUNTIME_STATES[container.state],
    createdAt: toMs(container.createdAt),
    startedAt: toMs(container.startedAt),
    finishedAt: toMs(container.finishedAt),
    exitCode: container.exitCode,
    reason: container.reason,
    message: container.message,
    restartCount: container.metadata.attempt,
    image: container.image,
    imageRef: container.imageRef,
    hash: container.annotations[CONTAINER_HASH_ANNOTATION],
    podSandboxId: container.podSandboxId,
    ...(container.annotations[POST_START_ANNOTATION] !== undefined && { recordsHook: true }),
    ...(devices !== undefined && { devices }),
    ...givenResources(container),
    ...(container.user && { user: container.user }),
    ...particularMounts(container),
  };
}

function givenResources({
  annotations,
  resources,
}: ContainerStatus): Pick<RuntimeContainerStatus, 'given' | 'limits'> {
  const given = givenIn(annotations);
  const linux = resources?.linux;
  return { ...(given && { given }), ...(linux && { limits: limitsOf(linux) }) };
}

function allocatedIn({ annotations }: PodSandboxStatus): Pick<RuntimeSandboxStatus, 'allocated'> {
  const allocated = writtenIn(annotations);
  return isAllocation(allocated) ? { allocated } : {};
}

/** Undefined for an annotation that is not one of this agent's. */
function givenIn(annotations: ContainerStatus['annotations']): GivenResources | undefined {
  const given = writtenIn(annotations) as Partial<GivenResources> | null | undefined;
  return given?.container === undefined ? undefined : (given as GivenResources);
}

function writtenIn({ [RESOURCES_ANNOTATION]: text }: ContainerStatus['annotations']): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As in CRI, 0 is no limit. */
function limitsOf({
  cpuShares,
  cpuQuota,
  cpuPeriod,
  memoryLimitInBytes,
}: LinuxContainerResources): RuntimeLimits {
  return {
    cpuShares,
    cpuLimitMilli: cpuQuota > 0 && cpuPeriod > 0 ? Math.round((1000 * cpuQuota) / cpuPeriod) : undefined,
    memoryLimitBytes: memoryLimitInBytes > 0 ? memoryLimitInBytes : undefined,
  };
}

function particularMounts({
  mounts = [],
}: ContainerStatus): Pick<RuntimeContainerStatus, 'recursiveReadOnlyMounts' | 'mountedImages'> {
  const recursive = mounts.filter(({ recursiveReadOnly }) => recursiveReadOnly === true);
  const images = mounts.flatMap(({ image }) => image?.image ?? []);
  return {
    ...(recursive.length > 0 && {
      recursiveReadOnlyMounts: recursive.map(({ containerPath }) => containerPath),
    }),
    ...(images.length > 0 && { mountedImages: images }),
  };
}

const RANKS: Readonly<Record<RuntimeContainerState, number>> = {
  running: 0,
  unknown: 1,
  exited: 1,
  created: 2,
};

/**
 * By attempt, then by time: the order of garbage collection, so that the instance that a status names as the last one is kept. Times alone
 * would be wrong where the clock of the machine was set back.
 */
function newestFirst(
  a: { createdAt: number; attempt?: number; restartCount?: number },
  b: { createdAt: number; attempt?: number; restartCount?: number },
): number {
  return (b.attempt ?? b.restartCount ?? 0) - (a.attempt ?? a.restartCount ?? 0) || b.createdAt - a.createdAt;
}
