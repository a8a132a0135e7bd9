/** The requests and limits of a pod: the sums over its containers, those of the pod itself, and the overhead. */
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import {
  addQuantity,
  maxQuantity,
  milliValue,
  parseQuantity,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import type { Quantity } from '../formats/quantity.ts';

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
  const lists = [...containers, ...initContainers].map(({ resources }) => resources?.[field] ?? {});
  const names = new Set(lists.flatMap((list) => Object.keys(list)));
  return new Map(Array.from(names, (name) => [name, containersAmount(pod, field, name)]));
}

/**
 * The most that containers use at one time: containers and sidecars together, or one init container with the sidecars that
 * were started before it.
 */
function containersAmount({ spec }: Pick<Pod, 'spec'>, field: Field, resourceName: string): Quantity {
  let sum = ZERO_QUANTITY;
  for (const { resources } of spec.containers) sum = plus(sum, amountIn(resources?.[field], resourceName));

  let sidecars = ZERO_QUANTITY;
  let initPeak = ZERO_QUANTITY;
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    const own = amountIn(resources?.[field], resourceName);
    if (restartPolicy === 'Always') {
      sum = plus(sum, own);
      sidecars = plus(sidecars, own);
    }
    const running = restartPolicy === 'Always' ? sidecars : plus(own, sidecars);
    initPeak = maxQuantity(initPeak, running);
  }
  return maxQuantity(sum, initPeak);
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
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** Zero where the list does not have it. A resource may be called `constructor`. */
function amountIn(list: ResourceList | undefined, resourceName: string): Quantity {
  const text = list && Object.hasOwn(list, resourceName) ? list[resourceName] : undefined;
  return text === undefined ? ZERO_QUANTITY : parseQuantity(text);
}

function quantitiesOf(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** Adds to `sums` in place. */
function addQuantities(sums: Map<string, Quantity>, addends: ResourceQuantities): void {
  for (const [name, quantity] of addends) {
    const sum = sums.get(name);
    sums.set(name, sum ? addQuantity(sum, quantity) : quantity);
  }
}
