/** The memory and the disk of a hollow node, what its containers use of them by plan, and when it evicts. */
import { parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { EvictionSignal } from '../../agent/policies/eviction/signals.ts';
import type { EvictionRules, ThresholdRule } from '../../simulation/resources/eviction-rules.ts';
import type { UseHabits } from '../../simulation/resources/growth.ts';
import {
  SimulatedResources,
  type SimulatedResourcesOptions,
} from '../../simulation/resources/simulated-resources.ts';
import type { DiskSizes } from '../../simulation/resources/simulated-storage.ts';
import type { HollowPlan, ResourceUse } from '../plan/hollow-plan.ts';

const MI = 2 ** 20;
/** Volumes, logs, images and containers share one file system. */
const LAYOUT = { dedicatedImageFs: false, splitContainerFs: false };
/** So many that the bytes of the disk run out first, however small the files are. */
const BYTES_PER_INODE = 4096;
/** Few containers log much. */
const LOGS: UseHabits = { shares: [0.01, 0.02, 0.05], growing: 0, maxPerMs: 0 };

type Sizes = Pick<HollowPlan, 'capacity'>;

/** The kubelet's default thresholds. */
export function hollowRules(plan: Sizes): EvictionRules {
  const disks = diskSizes(plan);
  const hard = (signal: EvictionSignal, amount: number): ThresholdRule => ({
    signal,
    amount: Math.ceil(amount),
    gracePeriodMs: 0,
    minReclaim: 0,
  });
  return {
    thresholds: [
      hard('memory.available', 100 * MI),
      ...(disks
        ? [
            hard('nodefs.available', 0.1 * disks.nodeFs.bytes),
            hard('nodefs.inodesFree', 0.05 * disks.nodeFs.inodes),
            hard('imagefs.available', 0.15 * disks.imageFs.bytes),
            hard('imagefs.inodesFree', 0.05 * disks.imageFs.inodes),
          ]
        : []),
    ],
    layout: LAYOUT,
    maxPodGracePeriodSeconds: 0,
    pressureTransitionPeriodMs: 300_000,
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
  return new SimulatedResources({
    ...parts,
    resources: { memory, disks, oldImages: [], rules: hollowRules(plan) },
  });
}

/** Undefined for a node without a disk. */
function diskSizes(plan: Sizes): DiskSizes | undefined {
  const bytes = bytesOf(plan, 'ephemeral-storage');
  if (bytes === 0) return undefined;
  const whole = { bytes, inodes: Math.ceil(bytes / BYTES_PER_INODE) };
  return { layout: LAYOUT, nodeFs: whole, imageFs: whole };
}

function bytesOf({ capacity }: Sizes, resource: string): number {
  return Number(quantityValue(parseQuantity(capacity[resource] ?? '0')));
}

function habitsOf({ uses, growing, bytesPerSecond }: ResourceUse): UseHabits {
  return { shares: uses, growing, maxPerMs: bytesPerSecond / 1000 };
}
