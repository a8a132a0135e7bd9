/** What pods of `reclaimed_cores` request, over what the node can give them. */
import type { Pod } from '../../../../types/kubernetes.ts';
import type { PodStats } from '../../../../types/stats.ts';
import { milliValue, parseQuantity, quantityValue } from '../../formats/quantity.ts';
import { podRequest, type ResourceList } from '../../pod/resources.ts';
import { isEvictable, wantsNotice } from '../qos-level.ts';
import type { ReclaimedResourcesSettings } from '../../../../types/built-in-thresholds.ts';
import { gracePeriodOf, isReclaimed, RECLAIMED_MEMORY, RECLAIMED_MILLICPU, sum } from './built-in-pods.ts';
import type { Asked, AskedForPods, ChosenPods, JudgedThreshold, MetThreshold } from './built-in-policy.ts';

/** By the name of the resource. */
export type Amounts = ReadonlyMap<string, number>;

export interface NodeUse {
  /** Of the node, by `cpu` and `memory`. */
  readonly allocatable: ResourceList;
  readonly pods: readonly Pod[];
  /** By UID: of all pods of the node, also of such as plugins are not shown. */
  readonly stats: ReadonlyMap<string, PodStats>;
}

const NANOS_PER_MILLI = 1_000_000;
/** This part of allocatable is not given away: what others use changes from one question to the next. */
const RESERVED_PERCENT = 10;

/**
 * What the node can give: allocatable, less a reserve, less what other pods use. A pod that is not measured counts with what it requests.
 * Throws what `parseQuantity` throws.
 */
export function reclaimableResources({ allocatable, pods, stats }: NodeUse): Amounts {
  const reclaimed = new Set(pods.filter(isReclaimed).map(({ metadata }) => metadata.uid));
  const measured = [...stats.values()].filter(({ podRef }) => !reclaimed.has(podRef.uid));
  const others = pods.filter(({ metadata }) => !reclaimed.has(metadata.uid));
  const left = (resource: string, total: number, usage: (one: PodStats) => number | undefined) => {
    const known = measured.flatMap((one) => usage(one) ?? []);
    const unknown = others.filter(({ metadata }) => {
      const figures = stats.get(metadata.uid);
      return figures === undefined || usage(figures) === undefined;
    });
    const used = sum(known) + sum(unknown.map((pod) => requestedAmount(pod, resource)));
    return Math.max(0, Math.floor(total - used));
  };
  const { milliCPU, memoryBytes } = allocatableAmounts(allocatable);
  const amounts = new Map<string, number>();
  if (milliCPU !== undefined)
    amounts.set(
      RECLAIMED_MILLICPU,
      left('cpu', milliCPU, ({ cpu: use }) => inMilli(use?.usageNanoCores)),
    );
  if (memoryBytes !== undefined)
    amounts.set(
      RECLAIMED_MEMORY,
      left('memory', memoryBytes, ({ memory: use }) => use?.workingSetBytes),
    );
  return amounts;
}

/** Without the reserve. */
export function allocatableAmounts({ cpu, memory }: ResourceList): {
  readonly milliCPU: number | undefined;
  readonly memoryBytes: number | undefined;
} {
  const withoutReserve = (amount: number) => (amount * (100 - RESERVED_PERCENT)) / 100;
  return {
    milliCPU: cpu === undefined ? undefined : withoutReserve(milli(cpu)),
    memoryBytes: memory === undefined ? undefined : withoutReserve(whole(memory)),
  };
}

export function judgeReclaimed(
  canGive: Amounts,
  { pods, settings }: Pick<Asked, 'pods' | 'settings'>,
): JudgedThreshold<undefined> {
  return { kept: undefined, met: reclaimedThreshold(pods, canGive, settings.reclaimedResources) };
}

/** `topN` of 0 asks for the pods that are only notified, for which `canGive` must be known. */
export function reclaimedToGo(
  canGive: Amounts,
  { pods, scope, topN, settings: { reclaimedResources } }: AskedForPods,
): ChosenPods<undefined> {
  const chosen =
    topN > 0
      ? reclaimedVictims(pods, scope, topN)
      : reclaimedToNotify(pods, scope, canGive, reclaimedResources);
  const gracePeriodSeconds = gracePeriodOf(reclaimedResources.gracePeriodSeconds);
  return { kept: undefined, pods: chosen, gracePeriodSeconds };
}

/**
 * The first resource of which too much is requested. Those whose threshold is hard come before all whose threshold is soft. Without pods
 * that request anything, and for resources of which it is not known what the node can give, nothing is met. Throws what `parseQuantity`
 * throws.
 */
export function reclaimedThreshold(
  pods: readonly Pod[],
  canGive: Amounts,
  settings: ReclaimedResourcesSettings,
): MetThreshold | undefined {
  const reclaimed = pods.filter(isReclaimed);
  const requested = new Map(
    Array.from(canGive.keys(), (scope) => [scope, sum(reclaimed.map((pod) => requestedAmount(pod, scope)))]),
  );
  const exceeded = (factors: Readonly<Record<string, number>>, metType: 'HARD_MET' | 'SOFT_MET') => {
    for (const [scope, factor] of Object.entries(factors)) {
      const total = canGive.get(scope);
      const observedValue = requested.get(scope);
      if (total === undefined || observedValue === undefined) continue;
      if (total === 0 && settings.skippedAtZero.includes(scope)) continue;
      const thresholdValue = factor * total;
      if (observedValue > thresholdValue) return { metType, scope, thresholdValue, observedValue };
    }
    return undefined;
  };
  const met =
    exceeded(settings.evictionThreshold, 'HARD_MET') ?? exceeded(settings.softEvictionThreshold, 'SOFT_MET');
  return met && { ...met, gracePeriodSeconds: settings.toleranceSeconds };
}

/** The reclaimed pods that request most of the resource come first; of equal ones, the last by name. */
export function reclaimedVictims(pods: readonly Pod[], scope: string, topN: number): readonly Pod[] {
  return byRequest(
    pods.filter((pod) => isReclaimed(pod) && isEvictable(pod)),
    scope,
  ).slice(0, topN);
}

/** For a soft threshold: of the pods that want a notice, those that do not fit under it, and at least one. */
export function reclaimedToNotify(
  pods: readonly Pod[],
  scope: string,
  canGive: Amounts,
  { softEvictionThreshold }: ReclaimedResourcesSettings,
): readonly Pod[] {
  const total = canGive.get(scope);
  const factor = softEvictionThreshold[scope];
  if (total === undefined || factor === undefined) return [];
  const asking = byRequest(
    pods.filter((pod) => isReclaimed(pod) && wantsNotice(pod)),
    scope,
  );
  let room = factor * total;
  let fitting = 0;
  for (const pod of asking.toReversed()) {
    room -= requestedAmount(pod, scope);
    if (room <= 0) break;
    fitting += 1;
  }
  return asking.slice(0, Math.max(1, asking.length - fitting));
}

function byRequest(pods: readonly Pod[], scope: string): readonly Pod[] {
  return pods
    .map((pod) => ({ pod, amount: requestedAmount(pod, scope) }))
    .sort((a, b) => b.amount - a.amount || (b.pod.metadata.name < a.pod.metadata.name ? -1 : 1))
    .map(({ pod }) => pod);
}

/** Thousandths of `cpu`; of others whole units. */
export function requestedAmount(pod: Pod, resource: string): number {
  const quantity = podRequest(pod, resource);
  return Number(resource === 'cpu' ? milliValue(quantity) : quantityValue(quantity));
}

function whole(text: string): number {
  return Number(quantityValue(parseQuantity(text)));
}

function milli(text: string): number {
  return Number(milliValue(parseQuantity(text)));
}

function inMilli(nanos: number | undefined): number | undefined {
  return nanos === undefined ? undefined : nanos / NANOS_PER_MILLI;
}
