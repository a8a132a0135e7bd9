/** Whether two statuses differ in what the node writes. */
import type { PodCondition, PodStatus } from '../../types/kubernetes.ts';
import { equalJson } from '../formats/canonical-json.ts';
import { without } from '../formats/members.ts';
import { parseQuantity } from '../formats/quantity.ts';
import { DISRUPTION_TARGET, isOwnedByKubelet } from '../status/pod-conditions.ts';
import { CLAIM_FIELDS } from './merged-status.ts';
import { servedPodStatus } from './served-pod-status.ts';

/**
 * Of conditions only those count that the node sets, by status, reason and message, in any order. The statuses of resource claims
 * belong to others.
 */
export function equalStatuses(one: PodStatus, other: PodStatus): boolean {
  if (equalJson(one, other)) return true;
  return (
    equalConditions(shown(one), shown(other)) &&
    equalJson(servedPodStatus(comparedFields(one), exactly), servedPodStatus(comparedFields(other), exactly))
  );
}

function comparedFields(status: PodStatus): PodStatus {
  return without(status, ['conditions', ...CLAIM_FIELDS]);
}

function shown({ conditions = [] }: PodStatus): ReadonlyMap<string, PodCondition> {
  const ours = conditions.filter(
    (condition) => isOwnedByKubelet(condition) || condition.type === DISRUPTION_TARGET,
  );
  return new Map(ours.map((condition) => [condition.type, condition]));
}

function equalConditions(
  ones: ReadonlyMap<string, PodCondition>,
  others: ReadonlyMap<string, PodCondition>,
): boolean {
  if (ones.size !== others.size) return false;
  return [...ones.values()].every((one) => {
    const other = others.get(one.type);
    return (
      other?.status === one.status &&
      (other.reason ?? '') === (one.reason ?? '') &&
      (other.message ?? '') === (one.message ?? '')
    );
  });
}

/** `1Gi` and `1073741824` are one amount. */
function exactly(quantity: string): string {
  return String(parseQuantity(quantity).nanos);
}
