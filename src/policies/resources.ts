/** What a pod asks for and is limited to: the sums over its containers, what the pod level says, the overhead. */
import type { Container, Pod } from '../types/kubernetes.ts';
import {
  addQuantity,
  maxQuantity,
  milliValue,
  parseQuantity,
  quantityValue,
  ZERO_QUANTITY,
} from './quantity.ts';
import type { Quantity } from './quantity.ts';

/** Quantities by the name of the resource: `cpu`, `memory`, `example.com/gpu`, … */
export type ResourceQuantities = ReadonlyMap<string, Quantity>;

/** As a pod spells it. */
export type ResourceList = Readonly<Record<string, string>>;
type Field = 'requests' | 'limits';

interface SumOptions {
  /** Leaves out `spec.overhead`. */
  readonly excludeOverhead?: boolean;
}

/** What the scheduler and admission count. Throws what `parseQuantity` throws. */
export function podRequests(pod: Pod, options: SumOptions = {}): ResourceQuantities {
  const sums = podSums(pod, 'requests');
  if (!options.excludeOverhead) addQuantities(sums, quantitiesOf(pod.spec.overhead));
  return sums;
}

/** The limits of the pod as a whole; overhead only widens limits that there are. Throws what `parseQuantity` throws. */
export function podLimits(pod: Pod, options: SumOptions = {}): ResourceQuantities {
  const sums = podSums(pod, 'limits');
  if (options.excludeOverhead) return sums;
  for (const [name, overhead] of quantitiesOf(pod.spec.overhead)) {
    const limit = sums.get(name);
    if (limit && limit.nanos !== 0n) sums.set(name, addQuantity(limit, overhead));
  }
  return sums;
}

/**
 * What preemption and eviction count a pod's request as: thousandths for `cpu`, whole units else, 1 for `pods`. Unlike
 * `podRequests`, a pod with resources of its own has no others, and overhead comes only on top of something.
 */
export function resourceRequest(pod: Pod, resourceName: string): bigint {
  if (resourceName === 'pods') return 1n;
  const request = ownRequest(pod, resourceName);
  const overhead = pod.spec.overhead?.[resourceName];
  const total =
    overhead === undefined || request.nanos === 0n ? request : addQuantity(request, parseQuantity(overhead));
  return resourceName === 'cpu' ? milliValue(total) : quantityValue(total);
}

function ownRequest(pod: Pod, resourceName: string): Quantity {
  if (hasPodLevelResources(pod)) {
    const request = pod.spec.resources?.requests?.[resourceName];
    return request === undefined ? ZERO_QUANTITY : parseQuantity(request);
  }
  return containerSums(pod, 'requests').get(resourceName) ?? ZERO_QUANTITY;
}

function podSums(pod: Pod, field: Field): Map<string, Quantity> {
  const sums = containerSums(pod, field);
  for (const [name, quantity] of quantitiesOf(pod.spec.resources?.[field])) {
    if (isPodLevelResource(name)) sums.set(name, quantity);
  }
  return sums;
}

/**
 * The most that runs at one time: containers and sidecars together, or one init container with the sidecars that were
 * started before it.
 */
function containerSums({ spec }: Pod, field: Field): Map<string, Quantity> {
  const sums = new Map<string, Quantity>();
  for (const container of spec.containers) addQuantities(sums, resourcesOf(container, field));

  const sidecars = new Map<string, Quantity>();
  const initPeak = new Map<string, Quantity>();
  for (const container of spec.initContainers ?? []) {
    const own = resourcesOf(container, field);
    if (container.restartPolicy === 'Always') {
      addQuantities(sums, own);
      addQuantities(sidecars, own);
      raiseAll(initPeak, sidecars);
    } else {
      raiseAll(initPeak, addQuantities(new Map(own), sidecars));
    }
  }
  raiseAll(sums, initPeak);
  return sums;
}

/** Whether cpu, memory or huge pages are requested or limited for the pod as a whole. */
function hasPodLevelResources({ spec: { resources } }: Pod): boolean {
  const names = [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})];
  return names.some(isPodLevelResource);
}

function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

function resourcesOf(container: Container, field: Field): ResourceQuantities {
  return quantitiesOf(container.resources?.[field]);
}

function quantitiesOf(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** Adds to `sums` in place, and returns it. */
export function addQuantities(
  sums: Map<string, Quantity>,
  addends: ResourceQuantities,
): Map<string, Quantity> {
  for (const [name, quantity] of addends) {
    const sum = sums.get(name);
    sums.set(name, sum ? addQuantity(sum, quantity) : quantity);
  }
  return sums;
}

function raiseAll(peaks: Map<string, Quantity>, others: ResourceQuantities): void {
  for (const [name, quantity] of others) {
    const peak = peaks.get(name);
    peaks.set(name, peak ? maxQuantity(peak, quantity) : quantity);
  }
}
