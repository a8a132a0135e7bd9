/** The statuses of pods on this node, with versions: a version that is newer than the one at the API server is to be written. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { without } from '../formats/members.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';
import { DISRUPTION_TARGET } from '../status/pod-conditions.ts';
import { forbiddenTransition } from './container-transitions.ts';
import { equalStatuses } from './equal-statuses.ts';
import { normalizedStatus } from './normalized-status.ts';
import { observedBy, withTransitionTimes } from '../status/status-changes.ts';

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

/** A new status of a pod after its former one: nothing in it goes back. */
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
