/** The memory and the disk of a hollow node, what its containers use of them by plan, and when it evicts. */
import type { EvictionParts } from '../../agent/actors/eviction/eviction-figures.ts';
import { DEFAULT_EVICTION_HARD, parseThresholds } from '../../agent/policies/eviction/thresholds.ts';
import { parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { UseHabits } from '../../simulation/resources/growth.ts';
import {
  SimulatedResources,
  type SimulatedResourcesOptions,
} from '../../simulation/resources/simulated-resources.ts';
import type { DiskSizes } from '../../simulation/resources/simulated-storage.ts';
import type { HollowPlan, ResourceUse } from '../plan/hollow-plan.ts';

const MEMORY = 'memory.available';
/** Volumes, logs, images and containers share one file system. */
const LAYOUT = { dedicatedImageFs: false, splitContainerFs: false };
/** So many that the bytes of the disk run out first, however small the files are. */
const BYTES_PER_INODE = 4096;
/** Few containers log much. */
const LOGS: UseHabits = { shares: [0.01, 0.02, 0.05], growing: 0, maxPerMs: 0 };

type Sizes = Pick<HollowPlan, 'capacity'>;

/** `evictionHard`: the kubelet's defaults. A node without a disk is never short of one. */
export function evictionHardOf(plan: Sizes): Readonly<Record<string, string>> {
  if (diskSizes(plan)) return DEFAULT_EVICTION_HARD;
  return Object.fromEntries(Object.entries(DEFAULT_EVICTION_HARD).filter(([signal]) => signal === MEMORY));
}

/** With the kubelet's defaults. */
export function evictionOf(plan: Sizes): EvictionParts['configuration'] {
  return {
    thresholds: parseThresholds({
      evictionHard: evictionHardOf(plan),
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    }),
    pressureTransitionPeriodMs: 300_000,
    maxPodGracePeriodSeconds: 0,
    localStorageCapacityIsolation: true,
  };
}

export function hollowResources(
  plan: Pick<HollowPlan, 'capacity' | 'memory' | 'disk'>,
  parts: Omit<SimulatedResourcesOptions, 'resources'>,
): SimulatedResources {
  const memory = {
    capacityBytes: bytesOf(plan, 'memory'),
    podsBytes: undefined,
    habits: habitsOf(plan.memory),
  };
  const sizes = diskSizes(plan);
  const written = habitsOf(plan.disk);
  const disks = sizes && { ...sizes, habits: { layer: written, volume: written, logs: LOGS } };
  return new SimulatedResources({ ...parts, resources: { memory, disks } });
}

/** Undefined for a node without a disk. */
function diskSizes(plan: Sizes): DiskSizes | undefined {
  const bytes = bytesOf(plan, 'ephemeral-storage');
  if (bytes === 0) return undefined;
  const whole = { bytes, inodes: Math.ceil(bytes / BYTES_PER_INODE) };
  return { layout: LAYOUT, nodeFs: whole, imageFs: whole };
}

/** 0 where the plan has none of the resource. */
export function bytesOf({ capacity }: Sizes, resource: string): number {
  return Number(quantityValue(parseQuantity(capacity[resource] ?? '0')));
}

function habitsOf({ uses, growing, bytesPerSecond }: ResourceUse): UseHabits {
  return { shares: uses, growing, maxPerMs: bytesPerSecond / 1000 };
}
