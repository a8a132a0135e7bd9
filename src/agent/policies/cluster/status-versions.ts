/** The statuses of pods on this node, with versions: a version that is newer than the one at the API server is to be written. */
import type { Container, ContainerStatus, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { without } from '../formats/canonical-json.ts';
import { byName, named } from '../formats/lookups.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';
import { equalStatuses } from './served-pod-status.ts';
import { DISRUPTION_TARGET } from '../status/pod-conditions.ts';
import { withShortMessages } from '../status/pod-status.ts';
import { observedBy, withTransitionTimes } from '../status/status-changes.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../pod-actions/restart.ts';

export interface VersionedStatus {
  /** With the name and namespace under which the API server knows it. */
  readonly pod: Pod;
  readonly status: PodStatus;
  /** Grows with each change. */
  readonly version: number;
  /** Nothing is left of the pod on this node. */
  readonly podIsFinished: boolean;
}

export interface StatusChange {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly former?: VersionedStatus | undefined;
  /** The pod that stands for a static pod at the API server. */
  readonly mirrorPod?: Pod | undefined;
  /** A new version even where nothing has changed: there may be something to be done at the API server. */
  readonly forced?: boolean;
  readonly podIsFinished?: boolean;
  /** The pod is not admitted yet: it has no start time. */
  readonly isHeld?: boolean;
  /** RFC 3339 in whole seconds. */
  readonly now: string;
}

export type StatusChangeResult =
  | { readonly kind: 'changed'; readonly next: VersionedStatus }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly problem: string };

/** Conditions that get their transition times here; the others bring their own. */
const TIMED_CONDITIONS = [
  'ContainersReady',
  'Ready',
  'Initialized',
  'PodReadyToStartContainers',
  'PodScheduled',
  'AllContainersRestarting',
  DISRUPTION_TARGET,
];

/** A new status of a pod after its former one: no part of it returns to an earlier state. */
export function nextStatus(change: StatusChange): StatusChangeResult {
  const { pod, former, mirrorPod, forced = false, podIsFinished = false, isHeld = false, now } = change;
  const before = former?.status ?? mirrorPod?.status ?? pod.status ?? {};
  const problem = forbiddenTransition(pod, before, change.status);
  if (problem !== undefined) return { kind: 'refused', problem };
  const timed = withTransitionTimes(change.status, before, TIMED_CONDITIONS, now);
  const startTime = before.startTime ?? timed.startTime ?? (isHeld ? undefined : now);
  const observedGeneration = Math.max(before.observedGeneration ?? 0, timed.observedGeneration ?? 0);
  const status = normalizedStatus(pod, {
    ...timed,
    ...(startTime !== undefined && { startTime }),
    ...(observedGeneration > 0 && { observedGeneration }),
  });
  if (!forced && former !== undefined && equalStatuses(former.status, status)) return { kind: 'unchanged' };
  const wasFinished = former?.podIsFinished === true && !isStaticPod(pod);
  const next = {
    pod,
    status,
    version: (former?.version ?? 0) + 1,
    podIsFinished: podIsFinished || wasFinished,
  };
  return { kind: 'changed', next };
}

/** With the generation of the pod's spec that this status is about. */
export function withObservedGeneration(pod: Pod, status: PodStatus): PodStatus {
  return { ...without(status, ['observedGeneration']), ...observedBy(pod) };
}

// A container that has ended stays ended, unless it may be started again.

/** Why `status` must not follow on `former`, if so. */
export function forbiddenTransition(pod: Pod, former: PodStatus, status: PodStatus): string | undefined {
  const { spec } = pod;
  if (spec.restartPolicy === 'Always' || canRestartAllContainers(spec)) return undefined;
  for (const old of former.containerStatuses ?? []) {
    const container = named(spec.containers, old.name);
    if (mayRestart(pod, container, old)) continue;
    if (leavesEnd(old, status.containerStatuses)) return illegal('container', old.name);
  }
  for (const [i, old] of (former.initContainerStatuses ?? []).entries()) {
    const container = spec.initContainers?.[i];
    if (container?.name !== old.name) {
      return `found mismatch between pod spec and status, container: ${old.name}`;
    }
    if (isRestartableInitContainer(container) || mayRestart(pod, container, old)) continue;
    if (leavesEnd(old, status.initContainerStatuses)) return illegal('init container', old.name);
  }
  return undefined;
}

function illegal(what: string, name: string): string {
  return `terminated ${what} ${name} attempted illegal transition to non-terminated state`;
}

function canRestartAllContainers({ containers, initContainers = [] }: Pod['spec']): boolean {
  return [...initContainers, ...containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
}

/** As with the kubelet, a failure may be followed by a restart wherever the pod's policy is OnFailure, whatever the container's own is. */
function mayRestart(pod: Pod, container: Container | undefined, { state }: ContainerStatus): boolean {
  const exitCode = state?.terminated?.exitCode;
  if (exitCode === undefined) return false;
  if (exitCode !== 0 && pod.spec.restartPolicy === 'OnFailure') return true;
  return container !== undefined && containerShouldRestart(pod, container, exitCode);
}

function leavesEnd({ name, state }: ContainerStatus, statuses: readonly ContainerStatus[] = []): boolean {
  if (state?.terminated == null) return false;
  const status = named(statuses, name);
  return status !== undefined && status.state?.terminated == null;
}

// A status in the form in which it is compared and sent: its order does not depend on the runtime, its messages have a limit.

export function normalizedStatus(pod: Pod, status: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  return withShortMessages(pod, {
    ...status,
    ...(containerStatuses && { containerStatuses: containerStatuses.toSorted(byName) }),
    ...(initContainerStatuses && { initContainerStatuses: inSpecOrder(pod, initContainerStatuses) }),
    ...(ephemeralContainerStatuses && {
      ephemeralContainerStatuses: ephemeralContainerStatuses.toSorted(byName),
    }),
  });
}

/** As in the kubelet: each container of the spec changes places with the entry at its position. */
function inSpecOrder({ spec }: Pod, statuses: readonly ContainerStatus[]): ContainerStatus[] {
  const ordered = [...statuses];
  let place = 0;
  for (const { name } of spec.initContainers ?? []) {
    const from = ordered.findIndex((status, i) => i >= place && status.name === name);
    const [found, standing] = [ordered[from], ordered[place]];
    if (found === undefined || standing === undefined) continue;
    ordered[from] = standing;
    ordered[place] = found;
    place += 1;
  }
  return ordered;
}
