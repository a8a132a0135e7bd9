/** The pods that may have to go for another one, with the figures that the choice among them is made from. */
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
  /** What its end frees of each missing resource, in the order of those. Of `cpu` in thousandths. */
  readonly frees: readonly number[];
  readonly memoryBytes: number;
  readonly milliCPU: number;
  /** From all that is missing. */
  readonly distance: number;
}

/** How much of each resource is still missing; zero and less: no more. */
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
 * How far a pod is from freeing what is missing: the sum of the squares of the fractions that would still be missing. So
 * every resource weighs the same.
 */
export function distanceFrom(missing: Amounts, frees: readonly number[]): number {
  let sum = 0;
  for (let index = 0; index < missing.length; index += 1) {
    const amount = missing[index] ?? 0;
    const rest = amount - (frees[index] ?? 0);
    if (amount > 0 && rest > 0) sum += (rest / amount) * (rest / amount);
  }
  return sum;
}
