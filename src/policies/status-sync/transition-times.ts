import type { PodStatus } from '../../types/kubernetes.ts';
import { only, without } from '../formats/members.ts';

/** The conditions of these types get a new transition time where their status changes, and keep the old one otherwise. */
export function withTransitionTimes(
  status: PodStatus,
  former: PodStatus,
  types: readonly string[],
  now: string,
): PodStatus {
  const { conditions } = status;
  if (conditions === undefined) return status;
  return {
    ...status,
    conditions: conditions.map((condition, i) => {
      const { type } = condition;
      const isFirst = conditions.findIndex((other) => other.type === type) === i;
      if (!isFirst || !types.includes(type)) return condition;
      const old = former.conditions?.find((other) => other.type === type);
      if (old?.status !== condition.status) return { ...condition, lastTransitionTime: now };
      if (old.lastTransitionTime === condition.lastTransitionTime) return condition;
      return { ...without(condition, ['lastTransitionTime']), ...only(old, ['lastTransitionTime']) };
    }),
  };
}
