/** The requests and limits of a pod: the sums over its containers, those of the pod itself, and the overhead. */
import type { Pod, PodSpec } from '../../../types/kubernetes.ts';
import {
  addQuantity,
  maxQuantity,
  milliValue,
  parseQuantity,
  type Quantity,
  quantityOrZero,
  quantityString,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';

/** Quantities by the name of the resource: `cpu`, `memory`, `example.com/gpu`, … */
export type ResourceQuantities = ReadonlyMap<string, Quantity>;

/** Amounts as texts, by the name of the resource: how a pod gives them. */
export type ResourceList = Readonly<Record<string, string>>;
type Field = 'requests' | 'limits';

interface SumOptions {
  /** Leaves out `spec.overhead`. */
  readonly excludeOverhead?: boolean;
}

/** The requests that the scheduler and admission count. Throws what `parseQuantity` throws. */
export function podRequests(pod: Pod, options: SumOptions = {}): ResourceQuantities {
  const sums = podSums(pod, 'requests');
  if (!options.excludeOverhead) addQuantities(sums, quantitiesOf(pod.spec.overhead));
  return sums;
}

/** One resource of `podRequests`, without the others. */
export function podRequest(pod: Pod, resourceName: string): Quantity {
  const ofPod = pod.spec.resources?.requests ?? {};
  const request =
    isPodLevelResource(resourceName) && Object.hasOwn(ofPod, resourceName)
      ? amountIn(ofPod, resourceName)
      : containersAmount(pod, 'requests', resourceName);
  return plus(request, amountIn(pod.spec.overhead, resourceName));
}

/** The limits of the pod as a whole. Overhead is added only to limits that exist. Throws what `parseQuantity` throws. */
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
 * A pod's request as preemption and eviction count it: in thousandths for `cpu`, in whole units for others, 1 for `pods`.
 * Unlike in `podRequests`, resources of the pod itself replace all those of its containers, and overhead is added only to a
 * request above zero.
 */
export function resourceRequest(pod: Pod, resourceName: string): bigint {
  if (resourceName === 'pods') return 1n;
  const request = ownRequest(pod, resourceName);
  const total = request.nanos === 0n ? request : plus(request, amountIn(pod.spec.overhead, resourceName));
  return resourceName === 'cpu' ? milliValue(total) : quantityValue(total);
}

function ownRequest(pod: Pod, resourceName: string): Quantity {
  if (!hasPodLevelResources(pod)) return containersAmount(pod, 'requests', resourceName);
  return isPodLevelResource(resourceName)
    ? amountIn(pod.spec.resources?.requests, resourceName)
    : ZERO_QUANTITY;
}

function podSums(pod: Pod, field: Field): Map<string, Quantity> {
  const sums = containerSums(pod, field);
  for (const [name, quantity] of quantitiesOf(pod.spec.resources?.[field])) {
    if (isPodLevelResource(name)) sums.set(name, quantity);
  }
  return sums;
}

/** The requests or limits of the containers together, without those of the pod itself. */
export function containerTotals(spec: PodSpec, field: Field): ResourceQuantities {
  return containerSums({ spec }, field);
}

function containerSums(pod: Pick<Pod, 'spec'>, field: Field): Map<string, Quantity> {
  const { containers, initContainers = [] } = pod.spec;
  const peaks = new Map<string, Peak>();
  const peakOf = (name: string) => {
    const peak = peaks.get(name) ?? new Peak();
    peaks.set(name, peak);
    return peak;
  };
  // One pass over all lists: a pod may have thousands of containers and of resources.
  for (const { resources } of containers)
    for (const [name, text] of Object.entries(resources?.[field] ?? {}))
      peakOf(name).container(parseQuantity(text));
  for (const { resources, restartPolicy } of initContainers)
    for (const [name, text] of Object.entries(resources?.[field] ?? {}))
      peakOf(name).initContainer(parseQuantity(text), restartPolicy === 'Always');
  return new Map(Array.from(peaks, ([name, peak]) => [name, peak.amount]));
}

function containersAmount({ spec }: Pick<Pod, 'spec'>, field: Field, resourceName: string): Quantity {
  const peak = new Peak();
  for (const { resources } of spec.containers) peak.container(amountIn(resources?.[field], resourceName));
  for (const { resources, restartPolicy } of spec.initContainers ?? [])
    peak.initContainer(amountIn(resources?.[field], resourceName), restartPolicy === 'Always');
  return peak.amount;
}

/**
 * The most that containers use of a resource at one time: containers and sidecars together, or one init container with the sidecars
 * that were started before it. Containers come in the order of their spec; those that use nothing may be left out.
 */
class Peak {
  #sum = ZERO_QUANTITY;
  #sidecars = ZERO_QUANTITY;
  #initPeak = ZERO_QUANTITY;

  container(own: Quantity): void {
    this.#sum = plus(this.#sum, own);
  }

  initContainer(own: Quantity, isSidecar: boolean): void {
    if (isSidecar) {
      this.#sum = plus(this.#sum, own);
      this.#sidecars = plus(this.#sidecars, own);
    }
    const running = isSidecar ? this.#sidecars : plus(own, this.#sidecars);
    this.#initPeak = maxQuantity(this.#initPeak, running);
  }

  get amount(): Quantity {
    return maxQuantity(this.#sum, this.#initPeak);
  }
}

/** Adding zero returns the other summand itself. Most sums have only one summand, so this saves work. */
function plus(sum: Quantity, own: Quantity): Quantity {
  if (own === ZERO_QUANTITY) return sum;
  return sum === ZERO_QUANTITY ? own : addQuantity(sum, own);
}

/** Whether the pod itself requests or limits cpu, memory or huge pages. */
function hasPodLevelResources({ spec: { resources } }: Pod): boolean {
  if (!resources) return false;
  const names = [...Object.keys(resources.requests ?? {}), ...Object.keys(resources.limits ?? {})];
  return names.some(isPodLevelResource);
}

/** Whether a pod itself can request or limit this resource, besides its containers. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name);
}

/** Zero where the list does not have it. A resource may be called `constructor`. */
export function amountIn(list: ResourceList | undefined, resourceName: string): Quantity {
  const text = list && Object.hasOwn(list, resourceName) ? list[resourceName] : undefined;
  return quantityOrZero(text);
}

/** The limit if it is above zero, else the fallback. */
export function limitOr(limit: string | undefined, fallback: string | undefined): Quantity {
  const own = quantityOrZero(limit);
  return own.nanos === 0n && fallback !== undefined ? parseQuantity(fallback) : own;
}

export function quantitiesOf(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

export function textsOf(quantities: ResourceQuantities): ResourceList {
  return Object.fromEntries(Array.from(quantities, ([name, quantity]) => [name, quantityString(quantity)]));
}

/** Adds to `sums` in place. */
/** `sums` grows by them. */
export function addQuantities(sums: Map<string, Quantity>, addends: ResourceQuantities): void {
  for (const [name, quantity] of addends) {
    const sum = sums.get(name);
    sums.set(name, sum ? addQuantity(sum, quantity) : quantity);
  }
}

const RESOURCE_PREFIX = 'hugepages-';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** `2MB`: what cgroups and CRI call a page of that size. */
export function hugePageSizeName(bytes: number): string {
  const unit = Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  return `${bytes / 1024 ** unit}${UNITS[unit] ?? ''}`;
}

/** Bytes of huge pages by the name of their size. Throws what `parseQuantity` throws. */
export function hugePageLimits(limits: ResourceList | undefined): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [resource, amount] of Object.entries(limits ?? {})) {
    if (!isHugePages(resource)) continue;
    const pageSize = Number(quantityValue(parseQuantity(resource.slice(RESOURCE_PREFIX.length))));
    if (pageSize > 0) found.set(hugePageSizeName(pageSize), Number(quantityValue(parseQuantity(amount))));
  }
  return found;
}

export function isHugePages(name: string): boolean {
  return name.startsWith(RESOURCE_PREFIX);
}
