/** The texts of an eviction in the pod's status and in events, in the kubelet's words. */
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { ContainerStats, PodStats } from '../../../types/stats.ts';
import { wholeQuantity } from './observations.ts';
import type { Shortage } from './shortage.ts';
import { figureText } from './pressure-settings.ts';
import { isPressureSignal, type StarvedResource } from './signals.ts';
import type { KillPodOptions } from '../termination/pod-termination.ts';
import { parseQuantity, type Quantity, quantityOrZero, quantityString } from '../formats/quantity.ts';
import { named } from '../formats/lookups.ts';

/** The reason of the event on a pod, and in its status. */
export const EVICTED = 'Evicted';
/** The reason of the event on the node. */
export const EVICTION_THRESHOLD_MET = 'EvictionThresholdMet';

export function evictionThresholdMetMessage({ resource }: Shortage): string {
  return `Attempting to reclaim ${resource}`;
}

/** Annotations of the event on the pod. */
export type EvictionAnnotations = Readonly<Record<string, string>>;

export interface EvictionMessage {
  readonly message: string;
  readonly annotations: EvictionAnnotations;
}

export function evictionMessage(shortage: Shortage, pod: Pod, stats: PodStats | undefined): EvictionMessage {
  const { resource } = shortage;
  const message = `The node was low on resource: ${resource}. ${figuresOf(shortage)}. `;
  if (stats === undefined) return { message, annotations: {} };
  const whole = podOfOwnRequest(pod, stats, resource);
  const over = containersOverRequest(pod, stats, resource);
  const consumers = [
    ...(whole ? [consumption('Pod', whole, resource)] : []),
    ...over.map((consumer) => consumption('Container', consumer, resource)),
  ];
  return {
    message: [message, ...consumers].join(''),
    annotations: {
      ...(whole && { offending_pod: whole.name, offending_pod_usage: whole.usage }),
      offending_containers: over.map(({ name }) => name).join(','),
      offending_containers_usage: over.map(({ usage }) => usage).join(','),
      starved_resource: resource,
    },
  };
}

function figuresOf({ threshold: { signal }, quantity, available }: Shortage): string {
  const [wanted, left] = [quantity, available].map((amount) => figureText(signal, amount));
  return isPressureSignal(signal)
    ? `Threshold of ${signal}: ${wanted}, observed: ${left}`
    : `Threshold quantity: ${wanted}, available: ${left}`;
}

/** A pod or a container, with its usage and its request of the resource that is short. */
interface Consumer {
  readonly name: string;
  readonly usage: string;
  readonly request: string;
}

function consumption(
  kind: 'Pod' | 'Container',
  { name, usage, request }: Consumer,
  resource: StarvedResource,
): string {
  return `${kind} ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
}

/** A pod that requests memory as a whole is named in the message whether it uses more or not. */
function podOfOwnRequest(
  { metadata: { name }, spec: { resources } }: Pod,
  { memory }: PodStats,
  resource: StarvedResource,
): Consumer | undefined {
  const text = resource === 'memory' ? resources?.requests?.[resource] : undefined;
  const usage = memory && bytes(memory.workingSetBytes ?? 0);
  if (text === undefined || usage === undefined) return undefined;
  return { name, usage: quantityString(usage), request: quantityString(parseQuantity(text)) };
}

/** In the order in which they were measured. */
function containersOverRequest(
  { spec }: Pod,
  { containers = [] }: PodStats,
  resource: StarvedResource,
): readonly Consumer[] {
  const known = [...(spec.initContainers ?? []), ...spec.containers];
  return containers.flatMap((stats) => {
    const container = named(known, stats.name);
    const usage = containerUsage(stats, resource);
    if (container === undefined || usage === undefined) return [];
    const request = containerRequest(container, resource);
    if (usage.nanos <= request.nanos) return [];
    return [{ name: container.name, usage: quantityString(usage), request: quantityString(request) }];
  });
}

function containerRequest({ resources }: Container, resource: StarvedResource): Quantity {
  const text = resources?.requests?.[resource];
  return quantityOrZero(text);
}

/** Undefined if it is not known, and for resources that containers cannot request. */
function containerUsage(
  { memory, rootfs, logs }: ContainerStats,
  resource: StarvedResource,
): Quantity | undefined {
  if (resource === 'memory') return bytes(memory?.workingSetBytes);
  if (resource !== 'ephemeral-storage') return undefined;
  if (rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return bytes(rootfs.usedBytes + logs.usedBytes);
}

function bytes(amount: number | undefined): Quantity | undefined {
  return amount === undefined ? undefined : wholeQuantity(BigInt(amount), 'BinarySI');
}

/** How a pod is evicted. `isDisrupted`: the pod gets the condition DisruptionTarget, because it ends through no fault of its own. */
export function evictionKill(
  message: string,
  gracePeriodSeconds: number,
  { isDisrupted }: { readonly isDisrupted: boolean },
): KillPodOptions {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message,
  };
  return {
    evict: true,
    podTerminationGracePeriodSecondsOverride: gracePeriodSeconds,
    podStatus: {
      phase: 'Failed',
      reason: EVICTED,
      message,
      ...(isDisrupted && { conditions: [condition] }),
    },
  };
}
