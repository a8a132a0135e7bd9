/** A pod's status as the API shows it. All its parts follow the kubelet. */
import type { Pod, PodPhase, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import type { StartFailure } from './container-facts.ts';
import { withReadiness } from './container-readiness.ts';
import type { ProbeResults } from './container-readiness.ts';
import { withDetails } from './container-status-details.ts';
import { apiContainerStatuses } from './container-statuses.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import { podPhase } from './phase.ts';
import { podAddresses } from './pod-addresses.ts';
import { podConditions } from './pod-conditions.ts';
import { podStatusResources } from './pod-status-resources.ts';
import { isTerminalPhase } from '../sync/pod-termination.ts';
import type { PodStatusOverride } from '../sync/pod-termination.ts';
import { podQOS } from '../pod/qos.ts';
import { shouldAllContainersRestart } from '../sync/restart.ts';
import { withShortMessages } from './termination-messages.ts';

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
  return withDetails(withReadiness(pod, statuses, facts.probeResults), facts);
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

/** Whether a regular container has been started in the sandbox that is in use. */
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
