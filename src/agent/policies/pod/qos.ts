/** The quality-of-service class of a pod: how well it is protected when memory runs short. */
import type { Pod, QOSClass } from '../../../types/kubernetes.ts';
import { parseQuantity } from '../formats/quantity.ts';
import type { ResourceList } from './resources.ts';

interface Resources {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

const QOS_RESOURCES = ['cpu', 'memory'];

/** Each container of a pod asks for it: it is computed once. */
const computed = new WeakMap<Pod['spec'], QOSClass>();

/** The class in the pod's status if there is one, else computed. The class of a pod never changes. */
export function podQOS(pod: Pod): QOSClass {
  const known = (pod.status?.qosClass as QOSClass | undefined) ?? computed.get(pod.spec);
  if (known) return known;
  const found = computePodQOS(pod);
  computed.set(pod.spec, found);
  return found;
}

/**
 * Guaranteed: every container, init containers included, has limits of cpu and memory, and the sums of the requests equal the
 * sums of the limits. BestEffort: nothing is requested or limited. Burstable: all other pods. Only amounts of cpu and memory
 * above zero count. If the pod itself has `resources`, only those count. Throws what `parseQuantity` throws.
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

/** In billionths; an amount below zero counts as zero. */
function amount(list: ResourceList | undefined, name: string): bigint {
  const text = list?.[name];
  if (text === undefined) return 0n;
  const { nanos } = parseQuantity(text);
  return nanos > 0n ? nanos : 0n;
}
