/** Quality of service: what a pod may rely on when memory gets short. */
import type { Pod, QOSClass } from '../../types/kubernetes.ts';
import { parseQuantity } from '../formats/quantity.ts';
import type { ResourceList } from './resources.ts';

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
  if (!all.some(asksForAnything)) return 'BestEffort';
  return all.every(limitsEverything) && requestsItsLimits(all) ? 'Guaranteed' : 'Burstable';
}

function asksForAnything(resources: Resources | undefined): boolean {
  return QOS_RESOURCES.some(
    (name) => amount(resources?.requests, name) > 0n || amount(resources?.limits, name) > 0n,
  );
}

function limitsEverything(resources: Resources | undefined): boolean {
  return QOS_RESOURCES.every((name) => amount(resources?.limits, name) > 0n);
}

function requestsItsLimits(all: readonly (Resources | undefined)[]): boolean {
  return QOS_RESOURCES.every((name) => {
    const sumOf = (field: keyof Resources) =>
      all.reduce((sum, resources) => sum + amount(resources?.[field], name), 0n);
    return sumOf('requests') === sumOf('limits');
  });
}

/** In billionths; what is below zero counts as nothing. */
function amount(list: ResourceList | undefined, name: string): bigint {
  const text = list?.[name];
  if (text === undefined) return 0n;
  const { nanos } = parseQuantity(text);
  return nanos > 0n ? nanos : 0n;
}
