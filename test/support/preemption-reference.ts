/**
 * The kubelet's choice of victims in the simplest form: every request is summed up again whenever it is needed. Tests and the
 * bench compare the policy with it.
 */
import type { MissingResource } from '../../src/agent/policies/admission/rejection.ts';
import { isPreemptable } from '../../src/agent/policies/pod/pod-kinds.ts';
import { podQOS } from '../../src/agent/policies/pod/qos.ts';
import { resourceRequest } from '../../src/agent/policies/pod/resources.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

type Missing = readonly MissingResource[];

/** Undefined if no set of pods is enough. */
export function plainVictims(preemptor: Pod, pods: readonly Pod[], missing: Missing): Pod[] | undefined {
  const candidates = pods.filter((pod) => isPreemptable(preemptor, pod));
  if (less(missing, candidates).length > 0) return undefined;
  const ofClass = (qosClass: string) => candidates.filter((pod) => podQOS(pod) === qosClass);
  const [bestEffort, burstable] = [ofClass('BestEffort'), ofClass('Burstable')];
  const fromGuaranteed = plainNearest(ofClass('Guaranteed'), less(missing, [...bestEffort, ...burstable]));
  const fromBurstable = plainNearest(burstable, less(missing, [...bestEffort, ...fromGuaranteed]));
  const fromBestEffort = plainNearest(bestEffort, less(missing, [...fromBurstable, ...fromGuaranteed]));
  return [...fromBestEffort, ...fromBurstable, ...fromGuaranteed];
}

function plainNearest(pool: Pod[], missing: Missing): Pod[] {
  const chosen: Pod[] = [];
  for (let left = missing; left.length > 0; left = less(left, chosen.slice(-1))) {
    let place = 0;
    for (let index = 1; index < pool.length; index += 1) {
      const [nearest, pod] = [pool[place]!, pool[index]!];
      const difference = distance(left, pod) - distance(left, nearest);
      if (difference < 0 || (difference === 0 && isSmaller(pod, nearest))) place = index;
    }
    chosen.push(pool[place]!);
    pool[place] = pool.at(-1)!;
    pool.pop();
  }
  return chosen;
}

function distance(missing: Missing, pod: Pod): number {
  const fractions = missing.map(({ resource, amount }) => (amount - request(pod, resource)) / amount);
  return fractions.reduce((sum, left) => (left > 0 ? sum + left * left : sum), 0);
}

function isSmaller(pod: Pod, other: Pod): boolean {
  const memory = request(pod, 'memory') - request(other, 'memory');
  return memory < 0 || (memory === 0 && request(pod, 'cpu') <= request(other, 'cpu'));
}

function less(missing: Missing, gone: readonly Pod[]): Missing {
  return missing
    .map(({ resource, amount }) => ({
      resource,
      amount: gone.reduce((left, pod) => left - request(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0);
}

function request(pod: Pod, resource: string): number {
  return Number(resourceRequest(pod, resource));
}
