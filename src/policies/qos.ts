/** Quality of service: what a pod may rely on when memory gets short. */
import type { Pod, QOSClass } from '../types/kubernetes.ts';
import { parseQuantity } from './quantity.ts';
import type { Quantity } from './quantity.ts';
import { addQuantities } from './resources.ts';
import type { ResourceList, ResourceQuantities } from './resources.ts';

interface Resources {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

const QOS_RESOURCES = ['cpu', 'memory'];

/** The class in the pod's status, where it has one, else computed: a class never changes in a pod's life. */
export function podQOS(pod: Pod): QOSClass {
  const given = pod.status?.qosClass;
  return given ? (given as QOSClass) : computePodQOS(pod);
}

/**
 * Guaranteed: every container, init ones too, has both limits, and the sums of requests equal those of limits. BestEffort:
 * nothing is requested or limited. Burstable: the rest. Only amounts above zero of cpu and memory count, and where the
 * pod itself has `resources`, only those. Throws what `parseQuantity` throws.
 */
export function computePodQOS({ spec }: Pod): QOSClass {
  const all: readonly (Resources | undefined)[] = spec.resources
    ? [spec.resources]
    : [...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.resources);
  const requests = sumPositive(all.map((resources) => resources?.requests));
  const limits = sumPositive(all.map((resources) => resources?.limits));
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  return all.every(limitsEverything) && sameAmounts(requests, limits) ? 'Guaranteed' : 'Burstable';
}

function limitsEverything(resources: Resources | undefined): boolean {
  return positiveOf(resources?.limits).size === QOS_RESOURCES.length;
}

function sameAmounts(a: ResourceQuantities, b: ResourceQuantities): boolean {
  return a.size === b.size && [...a].every(([name, { nanos }]) => b.get(name)?.nanos === nanos);
}

function sumPositive(lists: readonly (ResourceList | undefined)[]): ResourceQuantities {
  const sums = new Map<string, Quantity>();
  for (const list of lists) addQuantities(sums, positiveOf(list));
  return sums;
}

function positiveOf(list: ResourceList | undefined): ResourceQuantities {
  const found = new Map<string, Quantity>();
  for (const name of QOS_RESOURCES) {
    const text = list?.[name];
    const quantity = text === undefined ? undefined : parseQuantity(text);
    if (quantity && quantity.nanos > 0n) found.set(name, quantity);
  }
  return found;
}
