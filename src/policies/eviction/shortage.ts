/** What pods are evicted for: of all that is short the one thing that is to be reclaimed first. */
import { type FileSystemLayout, type NodeReclaim, nodeReclaims } from './file-system-parts.ts';
import { byEvictionPriority, isOfMemory, thresholdsMet } from './met-thresholds.ts';
import type { Observation, Observations } from './observations.ts';
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
  /** What has to become available on top before it is over. */
  readonly minReclaim: Quantity | undefined;
  /** What of the node itself is to be removed before any pod is touched. */
  readonly reclaim: readonly NodeReclaim[];
}

/** The most urgent of the thresholds that are met; undefined where there is none that anything can be done about. */
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

/** The shortage by new figures; undefined where it is over, minimum reclaim included, or cannot be measured. */
export function remainingShortage(shortage: Shortage, observations: Observations): Shortage | undefined {
  const { threshold } = shortage;
  if (!observations.has(threshold.signal) || isRelieved([threshold], observations)) return undefined;
  return withFigures(shortage, observations);
}

/**
 * The shortage after something has been removed of the node itself: over once no threshold at all is met any more, whatever the
 * grace periods, and the minimum reclaims are there. Pressure does not count: to remove things is work for the disks.
 * `observations` undefined: it could not be measured again.
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

/** What is not observed keeps its figures. */
function withFigures(shortage: Shortage, observations: Observations): Shortage {
  const observed = observations.get(shortage.threshold.signal);
  return observed === undefined ? shortage : { ...shortage, ...figuresOf(shortage.threshold, observed) };
}

/**
 * Hard ones before soft ones, in the order of the settings, turned round where `byEvictionPriority` turns it back. The kubelet
 * leaves it to chance which of several goes first.
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
    ...{ threshold, resource, isHard: isHardThreshold(threshold) },
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
