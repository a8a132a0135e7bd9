/** What the status at the API server becomes when the node's status is written. */
import type { Pod, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import { only, without } from '../formats/canonical-json.ts';
import { DISRUPTION_TARGET, endReason, isOwnedByKubelet } from '../status/pod-conditions.ts';
import { isTerminalPhase } from '../termination/pod-termination.ts';
import { observedBy, withCondition, withTransitionTimes } from '../status/status-changes.ts';

/** The statuses of resource claims are written by others. */
export const CLAIM_FIELDS = [
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
] as const;

const EXPLAINED_PHASE = ['phase', 'reason', 'message'] as const;

export interface StatusMerge {
  readonly pod: Pod;
  /** At the API server. */
  readonly served: PodStatus;
  /** Of the node. */
  readonly status: PodStatus;
  /** A terminal phase frees what the pod holds: it waits until nothing of the pod can run. */
  readonly couldHaveRunningContainers: boolean;
  /** RFC 3339 in whole seconds. */
  readonly now: string;
}

/** Conditions that the node does not own, and the statuses of resource claims, stay as they are at the server. */
export function mergedStatus(merge: StatusMerge): PodStatus {
  const { served, status, couldHaveRunningContainers } = merge;
  const merged = withClaimsOf(served, { ...status, conditions: mergedConditions(merge) });
  const keepsPhase = ends(merge) && couldHaveRunningContainers;
  return withoutReadiness(merge, keepsPhase ? withPhaseOf(served, merged) : merged);
}

function ends({ served, status }: StatusMerge): boolean {
  return !isTerminalPhase(served.phase) && isTerminalPhase(status.phase);
}

/**
 * The condition DisruptionTarget is written together with the terminal phase and not earlier, so that the reason is there when the end is.
 * Its time is that of the write, unless the server has had the condition before.
 */
export function writtenDisruption(merge: StatusMerge): PodCondition | undefined {
  const { served, status, couldHaveRunningContainers, now } = merge;
  if (!ends(merge) || couldHaveRunningContainers) return undefined;
  return withTransitionTimes(status, served, [DISRUPTION_TARGET], now).conditions?.find(isDisruption);
}

function mergedConditions(merge: StatusMerge): readonly PodCondition[] {
  const { served, status } = merge;
  const others = (served.conditions ?? []).filter((condition) => !isOwnedByKubelet(condition));
  const owned = (status.conditions ?? []).filter(isOwnedByKubelet);
  const merged = [...others, ...owned];
  const disruption = writtenDisruption(merge);
  if (disruption === undefined) return merged;
  const place = merged.findIndex(isDisruption);
  if (place >= 0) return merged.with(place, disruption);
  const before = (status.conditions ?? []).findIndex(isDisruption);
  const ownedBefore = (status.conditions ?? []).slice(0, before).filter(isOwnedByKubelet).length;
  return merged.toSpliced(others.length + ownedBefore, 0, disruption);
}

function isDisruption({ type }: PodCondition): boolean {
  return type === DISRUPTION_TARGET;
}

function withClaimsOf(served: PodStatus, status: PodStatus): PodStatus {
  return { ...without(status, CLAIM_FIELDS), ...only(served, CLAIM_FIELDS) };
}

/** The phase that the server has, with its reason and message. */
function withPhaseOf(served: PodStatus, status: PodStatus): PodStatus {
  return { ...without(status, EXPLAINED_PHASE), ...only(served, EXPLAINED_PHASE) };
}

/** A pod that has ended is not ready, whatever its last probe said. */
function withoutReadiness({ pod, now }: StatusMerge, status: PodStatus): PodStatus {
  const { phase = '', conditions = [] } = status;
  const isReady = ({ type, status: value }: PodCondition) =>
    (type === 'Ready' || type === 'ContainersReady') && value === 'True';
  if (!isTerminalPhase(phase) || !conditions.some(isReady)) return status;
  return ['ContainersReady', 'Ready'].reduce<PodStatus>((merged, type) => {
    const condition = { type, ...observedBy(pod), status: 'False', reason: endReason(phase) };
    return withTransitionTimes(withCondition(merged, condition), merged, [type], now);
  }, status);
}
