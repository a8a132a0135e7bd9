/** Which reclaimed pods get far less processor time than they request. */
import type { EvictPod } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { isEvictable } from '../qos-level.ts';
import type { Asked, Candidates } from './built-in-policy.ts';
import {
  byImportance,
  enhancementNumber,
  gracePeriodOf,
  isReclaimed,
  RECLAIMED_MILLICPU,
  sum,
} from './built-in-pods.ts';
import { requestedAmount } from './reclaimed-resources.ts';

/** Since when requests have been more than a pod tolerates, in milliseconds by UID. */
export type SuppressionKept = ReadonlyMap<string, number>;

const CPU_ENHANCEMENT = 'katalyst.kubewharf.io/cpu_enhancement';
const TOLERANCE = 'suppression_tolerance_rate';

/**
 * A pod that would go is not counted for those after it, which is why those that request most come first. `milliCPU`: what the node can give
 * to all reclaimed pods.
 */
export function suppressedPods(
  milliCPU: number,
  { pods, nowMs, settings: { cpuSuppression, cpuGrace } }: Asked,
  before: SuppressionKept,
): Candidates<SuppressionKept> {
  const { maxToleranceRate, minToleranceMs } = cpuSuppression;
  const reclaimed = pods
    .filter(isReclaimed)
    .map((pod) => ({ pod, amount: requestedAmount(pod, RECLAIMED_MILLICPU) }));
  reclaimed.sort((a, b) => b.amount - a.amount || byImportance(a.pod, b.pod));
  let requested = sum(reclaimed.map(({ amount }) => amount));
  const kept = new Map<string, number>();
  const evictPods: EvictPod[] = [];
  for (const { pod, amount } of reclaimed) {
    const rate = requested === 0 ? 0 : requested / milliCPU;
    const tolerated = toleranceOf(pod, maxToleranceRate);
    if (amount === 0 || !isEvictable(pod) || rate <= tolerated) continue;
    const { uid } = pod.metadata;
    const since = Math.min(before.get(uid) ?? nowMs, nowMs);
    kept.set(uid, since);
    if (nowMs - since <= minToleranceMs) continue;
    requested -= amount;
    const gracePeriodSeconds = gracePeriodOf(cpuGrace.gracePeriodSeconds);
    evictPods.push({
      pod,
      reason: reasonOf(rate, tolerated),
      forceEvict: false,
      gracePeriodSeconds,
    });
  }
  return { kept, evictPods };
}

function toleranceOf(pod: Pod, most: number): number {
  const own = enhancementNumber(pod, CPU_ENHANCEMENT, TOLERANCE);
  return own !== undefined && own > 0 ? Math.min(own, most) : most;
}

function reasonOf(rate: number, tolerated: number): string {
  if (!Number.isFinite(rate)) return 'the node can give no processor time to reclaimed pods';
  const times = `${rate.toFixed(2)} times the processor time that the node can give`;
  return `reclaimed pods request ${times}, and it tolerates ${tolerated.toFixed(2)} times`;
}
