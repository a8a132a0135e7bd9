/** The pods that may be preempted for another pod, with the figures from which victims are chosen. */
import type { Pod } from '../../types/kubernetes.ts';
import type { MissingResource } from '../admission/rejection.ts';
import { isPreemptable } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { resourceRequest } from '../pod/resources.ts';

export interface PreemptionCandidate {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly qosClass: string;
  readonly priority: number;
  /** How much of each missing resource its end frees, in the order of the missing resources. `cpu` in thousandths. */
  readonly frees: readonly number[];
  readonly memoryBytes: number;
  readonly milliCPU: number;
  /** From all that is missing before any victim is chosen: `distanceFrom`. */
  readonly distance: number;
}

/** How much of each resource is still missing. Zero or less: nothing. */
export type Amounts = readonly number[];

/** In the order of the pods. Throws what `parseQuantity` throws. */
export function preemptionCandidates(
  preemptor: Pod,
  pods: readonly Pod[],
  missing: readonly MissingResource[],
): readonly PreemptionCandidate[] {
  const amounts = missing.map(({ amount }) => amount);
  const resources = missing.map(({ resource }) => resource);
  const [memory, cpu] = [resources.indexOf('memory'), resources.indexOf('cpu')];
  return pods
    .filter((pod) => isPreemptable(preemptor, pod))
    .map((pod) => {
      const { metadata, spec } = pod;
      const frees = resources.map((resource) => request(pod, resource));
      return {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        qosClass: podQOS(pod),
        priority: spec.priority ?? 0,
        frees,
        memoryBytes: frees[memory] ?? request(pod, 'memory'),
        milliCPU: frees[cpu] ?? request(pod, 'cpu'),
        distance: distanceFrom(amounts, frees),
      };
    });
}

/** Exact up to 2^53: 9 PB. */
function request(pod: Pod, resource: string): number {
  return Number(resourceRequest(pod, resource));
}

/**
 * How far a pod is from freeing what is missing: the sum of the squares of the fractions that would still be missing.
 * Fractions give every resource the same weight.
 */
export function distanceFrom(missing: Amounts, frees: readonly number[]): number {
  let sum = 0;
  for (let index = 0; index < missing.length; index += 1) {
    const amount = missing[index] ?? 0;
    const left = amount - (frees[index] ?? 0);
    if (amount > 0 && left > 0) sum += (left / amount) * (left / amount);
  }
  return sum;
}
