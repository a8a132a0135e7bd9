/** A pod's status as the API shows it. All its parts follow the kubelet. */
import type { ContainerState, ContainerStatus, Pod, PodPhase, PodStatus } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { parseIPAddress } from '../formats/ip-address.ts';
import { named } from '../formats/lookups.ts';
import { podQOS } from '../pod/qos.ts';
import { podLimits, podRequests, textsOf } from '../pod/resources.ts';
import { shouldAllContainersRestart } from '../pod-actions/restart.ts';
import { isTerminalPhase, type PodStatusOverride } from '../termination/pod-termination.ts';
import type { StartFailure } from './container-state.ts';
import {
  apiContainerStatuses,
  type ContainerStatuses,
  type ProbeResults,
  withDetails,
  withReadiness,
} from './container-statuses.ts';
import { listedConditions, type ResizeConditions } from '../resize/resize-conditions.ts';
import { podPhase } from './phase.ts';
import { podConditions } from './pod-conditions.ts';

export interface PodStatusFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The status that was reported last; without one, the status in the pod's object counts. */
  readonly previous?: PodStatus;
  /** No container of the pod runs, and none will be started again. */
  readonly podIsTerminal: boolean;
  /** By container name. A container that has been started since has no entry. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  /** What the last kill writes into the status (lifecycle 5). */
  readonly override?: PodStatusOverride;
  readonly probeResults?: ProbeResults;
  /** The devices of the container of that name, and how they are. */
  readonly devicesOf?: (container: string) => ContainerStatus['allocatedResourcesStatus'];
  /** How far a change of the pod's resources has come. */
  readonly resize?: ResizeConditions;
  /** The first part of container ids: `<runtimeName>://<id>`. */
  readonly runtimeName: string;
  /** Addresses of the node, the primary one first. */
  readonly hostIPs: readonly string[];
  /** RFC 3339 in whole seconds. */
  readonly now: string;
}

/** The status of a pod that is being synced or terminated, or whose containers have all ended. */
export function generateAPIPodStatus(facts: PodStatusFacts): PodStatus {
  const containers = containersOf(facts);
  return composed(facts, containers, phaseOf(facts, containers));
}

/** Whether the pod has ended by itself: a sync has no container to start any more (lifecycle 3). */
export function hasRunToItsEnd(status: PodStatus): boolean {
  return isTerminalPhase(status.phase);
}

function previousStatus({ pod, previous }: PodStatusFacts): PodStatus | undefined {
  return previous ?? pod.status;
}

function isPodRestarting(facts: PodStatusFacts): boolean {
  return shouldAllContainersRestart(facts.pod, facts.podStatus, previousStatus(facts));
}

function containersOf(facts: PodStatusFacts): ContainerStatuses {
  const { pod, podStatus, startFailures, runtimeName } = facts;
  const podRestarting = isPodRestarting(facts);
  const statuses = apiContainerStatuses(
    { pod, podStatus, startFailures, runtimeName, podRestarting },
    previousStatus(facts),
  );
  return withDevices(withDetails(withReadiness(pod, statuses, facts.probeResults), facts), facts);
}

/** As with the kubelet, of regular containers. When the pod has ended, its devices are free, and its status still says which it had. */
function withDevices(statuses: ContainerStatuses, facts: PodStatusFacts): ContainerStatuses {
  const { devicesOf, podIsTerminal } = facts;
  if (devicesOf === undefined) return statuses;
  const before = podIsTerminal ? (previousStatus(facts)?.containerStatuses ?? []) : [];
  const containerStatuses = statuses.containerStatuses.map((status) => {
    const last = named(before, status.name);
    const allocatedResourcesStatus = devicesOf(status.name) ?? last?.allocatedResourcesStatus;
    return allocatedResourcesStatus ? { ...status, allocatedResourcesStatus } : status;
  });
  return { ...statuses, containerStatuses };
}

/** The first terminal phase that was reported is kept. Else the phase of a kill counts, else that of the containers. */
function phaseOf(facts: PodStatusFacts, containers: ContainerStatuses): string {
  const reported = [facts.pod.status?.phase, facts.previous?.phase].find(isTerminalPhase);
  return reported ?? facts.override?.phase ?? computedPhase(facts, containers);
}

function computedPhase(
  { pod, podStatus, podIsTerminal }: PodStatusFacts,
  containers: ContainerStatuses,
): PodPhase {
  const statuses = [...containers.initContainerStatuses, ...containers.containerStatuses];
  return podPhase(pod, statuses, podIsTerminal, hasRegularContainerStarted(pod, podStatus));
}

function hasRegularContainerStarted(pod: Pod, { sandboxes, containers }: RuntimePodStatus): boolean {
  const newest = sandboxes[0];
  if (!newest?.ready) return false;
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return containers.some(
    ({ name, podSandboxId, state }) =>
      names.has(name) && podSandboxId === newest.id && (state === 'running' || state === 'exited'),
  );
}

function composed(facts: PodStatusFacts, containers: ContainerStatuses, phase: string): PodStatus {
  const { pod, podStatus, hostIPs, now, override } = facts;
  const previous = previousStatus(facts);
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = containers;
  const conditions = podConditions({
    pod,
    podStatus,
    previous,
    phase,
    containerStatuses: [...initContainerStatuses, ...containerStatuses],
    podRestarting: isPodRestarting(facts),
    resize: facts.podIsTerminal || isTerminalPhase(phase) ? [] : listedConditions(facts.resize ?? {}),
    added: isInForce(override, phase) ? override?.conditions : [],
    now,
  });
  return withShortMessages(pod, {
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    phase,
    ...explanation(facts, phase),
    conditions,
    ...podAddresses(pod, podStatus, previous, hostIPs),
    startTime: previous?.startTime ?? pod.status?.startTime ?? now,
    qosClass: podQOS(pod),
    ...podStatusResources(pod),
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    containerStatuses,
    ...(ephemeralContainerStatuses.length > 0 && { ephemeralContainerStatuses }),
  });
}

/** A kill with the phase Failed has no effect on the status of a pod that has already succeeded. */
function isInForce(override: PodStatusOverride | undefined, phase: string): boolean {
  return override?.phase === undefined || override.phase === phase;
}

/** A reason and message are kept as long as the phase stays the same. */
function explanation(facts: PodStatusFacts, phase: string): Pick<PodStatus, 'reason' | 'message'> {
  const { pod, override } = facts;
  const applied = isInForce(override, phase) ? override : undefined;
  const previous = previousStatus(facts);
  const kept = [previous, pod.status].filter((status) => status?.phase === phase);
  const reason = applied?.reason ?? kept.find((status) => status?.reason)?.reason;
  const message = applied?.message ?? kept.find((status) => status?.message)?.message;
  return { ...(reason && { reason }), ...(message && { message }) };
}

type Addresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/**
 * The addresses in a pod's status. A pod whose sandbox has ended keeps its address. A pod on the host's network has the
 * addresses of the host, `hostIPs`. The first of these is the primary one.
 */
export function podAddresses(
  pod: Pod,
  podStatus: RuntimePodStatus,
  previous: PodStatus | undefined,
  hostIPs: readonly string[],
): Addresses {
  const own = podIPsOf(podStatus, previous, hostIPs[0]);
  const podIPs = own.length === 0 && pod.spec.hostNetwork === true ? hostIPs : own;
  return {
    ...(hostIPs.length > 0 && { hostIP: hostIPs[0], hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIPs.length > 0 && { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}

function podIPsOf(
  { sandboxes }: RuntimePodStatus,
  previous: PodStatus | undefined,
  primaryHostIP: string | undefined,
): readonly string[] {
  const newest = sandboxes[0];
  const reported = oneOfEachFamily(newest?.ips ?? (newest?.ip ? [newest.ip] : []), primaryHostIP);
  if (newest?.ready) return reported;
  if (sandboxes.some(({ ready }) => ready)) return [];
  // Most runtimes forget the address of a sandbox that has ended. If this one does not, it helps after a restart of the agent.
  return previous?.podIPs?.map(({ ip }) => ip) ?? reported;
}

/**
 * As the API requires: the first address of the node's primary family, then the first of the other family, each in its usual
 * spelling. What is no address is left out.
 */
function oneOfEachFamily(ips: readonly string[], primaryHostIP: string | undefined): readonly string[] {
  const addresses = ips.map(parseIPAddress).filter((address) => address !== undefined);
  const isPrimaryIPv4 = (parseIPAddress(primaryHostIP ?? '') ?? addresses[0])?.isIPv4 ?? true;
  const first = (ofIPv4: boolean) => addresses.find(({ isIPv4 }) => isIPv4 === ofIPv4)?.text;
  return [first(isPrimaryIPv4), first(!isPrimaryIPv4)].filter((ip) => ip !== undefined);
}

/** `resources` is there also without requests and limits, as with the kubelet. */
function podStatusResources(pod: Pod): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  const [requests, limits] = [podRequests(pod), podLimits(pod)].map((amounts) =>
    amounts.size > 0 ? textsOf(amounts) : undefined,
  );
  return {
    ...(requests && { allocatedResources: requests }),
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
  };
}

/** For all containers of a pod together. */
const TOTAL_BYTES_MAX = 12 * 1024;

/** Each container of a pod has an equal share of the limit, used or not. A longer message is cut to its share. */
export function withShortMessages({ spec }: Pod, status: PodStatus): PodStatus {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const count = containers.length + initContainers.length + ephemeralContainers.length;
  const bytesMax = Math.floor(TOTAL_BYTES_MAX / Math.max(1, count));
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  const cut = (statuses: readonly ContainerStatus[]) => statuses.map((one) => cutStatus(one, bytesMax));
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses: cut(initContainerStatuses) }),
    ...(containerStatuses && { containerStatuses: cut(containerStatuses) }),
    ...(ephemeralContainerStatuses && { ephemeralContainerStatuses: cut(ephemeralContainerStatuses) }),
  };
}

function cutStatus(status: ContainerStatus, bytesMax: number): ContainerStatus {
  const { state, lastState } = status;
  return {
    ...status,
    ...(state && { state: cutState(state, bytesMax) }),
    ...(lastState && { lastState: cutState(lastState, bytesMax) }),
  };
}

function cutState(state: ContainerState, bytesMax: number): ContainerState {
  const { terminated } = state;
  // A UTF-16 unit takes at most three bytes, so most messages need no encoding to be found short enough.
  if (!terminated?.message || terminated.message.length * 3 <= bytesMax) return state;
  const bytes = new TextEncoder().encode(terminated.message);
  if (bytes.length <= bytesMax) return state;
  const message = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, bytesMax));
  return { ...state, terminated: { ...terminated, message } };
}
