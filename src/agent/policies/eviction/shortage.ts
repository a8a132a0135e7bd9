/** What pods are evicted for: of all resources that are short, the one that is reclaimed first. */
import { type FileSystemLayout, type NodeReclaim, nodeReclaims } from './file-system-parts.ts';
import {
  byEvictionPriority,
  isOfMemory,
  type Observation,
  type Observations,
  thresholdsMet,
} from './observations.ts';
import { isPressureSignal, type StarvedResource, starvedResource } from './signals.ts';
import { isHardThreshold, type Threshold, thresholdQuantity } from './thresholds.ts';
import type { Quantity } from '../formats/quantity.ts';

export interface Shortage {
  readonly threshold: Threshold;
  readonly isHard: boolean;
  readonly resource: StarvedResource;
  /** How much should be available, and how much is. */
  readonly quantity: Quantity;
  readonly available: Quantity;
  /** How much more has to become available before the shortage is over. */
  readonly minReclaim: Quantity | undefined;
  /** What is removed from the node before any pod is evicted. */
  readonly reclaim: readonly NodeReclaim[];
}

/** The shortage of the most urgent threshold; undefined if none of the thresholds has a resource that can be reclaimed. */
export function mostUrgentShortage(
  thresholds: readonly Threshold[],
  observations: Observations,
  layout: FileSystemLayout,
): Shortage | undefined {
  const threshold = byEvictionPriority(byUrgency(thresholds)).find(
    ({ signal }) => starvedResource(signal) !== undefined,
  );
  return threshold && shortageOf(threshold, observations, layout);
}

/** The shortage by new figures; undefined if it is over, minimum reclaim included, or cannot be measured. */
export function remainingShortage(shortage: Shortage, observations: Observations): Shortage | undefined {
  const { threshold } = shortage;
  if (!observations.has(threshold.signal) || isRelieved([threshold], observations)) return undefined;
  return withFigures(shortage, observations);
}

/**
 * The shortage after dead containers and images have been removed. It is over when no threshold is met any more, whatever the grace
 * periods, and the minimum reclaims are reached. Thresholds on pressure do not count, because removing is work for the disks.
 * `observations` is undefined if the node could not be measured again.
 */
export function shortageAfterReclaim(
  shortage: Shortage,
  thresholds: readonly Threshold[],
  observations: Observations | undefined,
): Shortage | undefined {
  if (observations === undefined) return shortage;
  const ofResources = thresholds.filter(({ signal }) => !isPressureSignal(signal));
  return isRelieved(ofResources, observations) ? undefined : withFigures(shortage, observations);
}

function isRelieved(thresholds: readonly Threshold[], observations: Observations): boolean {
  return thresholdsMet(thresholds, observations, { minReclaim: true }).length === 0;
}

/** A signal that is not observed keeps its figures. */
function withFigures(shortage: Shortage, observations: Observations): Shortage {
  const observed = observations.get(shortage.threshold.signal);
  return observed === undefined ? shortage : { ...shortage, ...figuresOf(shortage.threshold, observed) };
}

/**
 * Hard thresholds before soft ones, in the order of the settings. Those of memory are reversed, because `byEvictionPriority` reverses them
 * again. In the kubelet the order of several thresholds is random.
 */
function byUrgency(thresholds: readonly Threshold[]): readonly Threshold[] {
  const ordered = [
    ...thresholds.filter(isHardThreshold),
    ...thresholds.filter((threshold) => !isHardThreshold(threshold)),
  ];
  return [
    ...ordered.filter(isOfMemory).toReversed(),
    ...ordered.filter((threshold) => !isOfMemory(threshold)),
  ];
}

function shortageOf(
  threshold: Threshold,
  observations: Observations,
  layout: FileSystemLayout,
): Shortage | undefined {
  const resource = starvedResource(threshold.signal);
  const observed = observations.get(threshold.signal);
  if (resource === undefined || observed === undefined) return undefined;
  return {
    threshold,
    resource,
    isHard: isHardThreshold(threshold),
    ...figuresOf(threshold, observed),
    reclaim: nodeReclaims(threshold.signal, layout),
  };
}

function figuresOf(
  { value, minReclaim }: Threshold,
  { available, capacity }: Observation,
): Pick<Shortage, 'quantity' | 'available' | 'minReclaim'> {
  const quantity = thresholdQuantity(value, capacity);
  return { quantity, available, minReclaim: minReclaim && thresholdQuantity(minReclaim, capacity) };
}
