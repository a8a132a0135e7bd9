/** How much of each resource simulated nodes have, and their eviction thresholds. */
import type { FileSystemLayout } from '../../agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../agent/policies/eviction/signals.ts';
import type { EvictionRules, ThresholdRule } from './eviction-rules.ts';
import { drawn, type KeyedRandom } from './growth.ts';
import type { DiskUse } from './node-use.ts';
import type { MemorySize } from './simulated-memory.ts';
import type { DiskSizes } from './simulated-storage.ts';

/** What a node can run short of; it evicts for nothing else. */
export interface NodeResources {
  readonly memory?: MemorySize | undefined;
  readonly processes?: { readonly max: number } | undefined;
  readonly disks?: DiskSizes | undefined;
  /** Images that were pulled before the first pod came. */
  readonly oldImages: readonly string[];
  readonly rules: EvictionRules;
}

const MI = 2 ** 20;
const SOFT_GRACE_PERIOD_MS = 30_000;

/** How much a node has, compared with what its pods use on average. Many nodes have plenty, or do not evict at all. */
const SHARES = {
  memory: [undefined, undefined, 10, 0.6, 0.35],
  processes: [undefined, undefined, undefined, undefined, 10, 0.5],
  disks: [undefined, undefined, undefined, 10, 0.8, 0.5, 0.4],
};
/** What a pod uses on average. */
const USED = { memoryMi: 400, processes: 50, diskMi: 150, inodes: 12_000 };
const LEAST = { memoryMi: 512, processes: 200, diskMi: 256, inodes: 20_000 };
const IMAGES: DiskUse = { bytes: 1_500 * MI, inodes: 60_000 };
const MAX_OLD_IMAGES = 6;
/** All pods together may use less than that. */
const OF_PODS = 0.7;

const ONE_DISK: FileSystemLayout = { dedicatedImageFs: false, splitContainerFs: false };
const LAYOUTS: readonly FileSystemLayout[] = [
  ONE_DISK,
  { dedicatedImageFs: true, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: true },
];

/** The resources of a node with this many pods; undefined if the node does not evict. */
export function drawnNodeResources(pods: number, random: KeyedRandom): NodeResources | undefined {
  const memory = drawnMemory(pods, random);
  const processes = drawnProcesses(pods, random);
  const disks = drawnDisks(pods, random);
  const thresholds = [
    ...(memory ? memoryRules(memory, random) : []),
    ...(disks ? diskRules(disks, random) : []),
    ...(processes ? rulesFor('pid.available', processes.max / 10, random) : []),
  ];
  if (thresholds.length === 0) return undefined;
  const rules: EvictionRules = {
    thresholds,
    layout: disks?.layout ?? ONE_DISK,
    maxPodGracePeriodSeconds: 10,
    pressureTransitionPeriodMs: 60_000,
  };
  return { memory, processes, disks, oldImages: disks ? drawnImages(random) : [], rules };
}

function drawnMemory(pods: number, random: KeyedRandom): MemorySize | undefined {
  const share = drawn(SHARES.memory, random('memory'));
  if (share === undefined) return undefined;
  const capacityBytes = Math.round(Math.max(LEAST.memoryMi, share * pods * USED.memoryMi)) * MI;
  const isHeld = random('memory/pods') < 0.3;
  return { capacityBytes, podsBytes: isHeld ? Math.round(OF_PODS * capacityBytes) : undefined };
}

function drawnProcesses(pods: number, random: KeyedRandom): NodeResources['processes'] {
  const share = drawn(SHARES.processes, random('processes'));
  return share === undefined
    ? undefined
    : { max: Math.round(Math.max(LEAST.processes, share * pods * USED.processes)) };
}

function drawnDisks(pods: number, random: KeyedRandom): DiskSizes | undefined {
  const share = drawn(SHARES.disks, random('disks'));
  if (share === undefined) return undefined;
  const layout = drawn(LAYOUTS, random('disks/layout')) ?? ONE_DISK;
  const ofPods = {
    bytes: Math.round(Math.max(LEAST.diskMi, share * pods * USED.diskMi)) * MI,
    inodes: Math.round(Math.max(LEAST.inodes, share * pods * USED.inodes)),
  };
  const withImages = { bytes: ofPods.bytes + IMAGES.bytes, inodes: ofPods.inodes + IMAGES.inodes };
  return layout.dedicatedImageFs
    ? { layout, nodeFs: ofPods, imageFs: layout.splitContainerFs ? IMAGES : withImages }
    : { layout, nodeFs: withImages, imageFs: withImages };
}

function drawnImages(random: KeyedRandom): readonly string[] {
  const count = Math.floor((MAX_OLD_IMAGES + 1) * random('images'));
  return Array.from({ length: count }, (_, index) => `registry.example/old:${String(index + 1)}`);
}

function memoryRules({ podsBytes }: MemorySize, random: KeyedRandom): readonly ThresholdRule[] {
  const rules = rulesFor('memory.available', 100 * MI, random);
  const [hard] = rules;
  // The threshold of all memory also holds for the memory of pods.
  return podsBytes === undefined || hard === undefined
    ? rules
    : [...rules, { ...hard, signal: 'allocatableMemory.available' }];
}

function diskRules({ layout, nodeFs, imageFs }: DiskSizes, random: KeyedRandom): readonly ThresholdRule[] {
  return [
    ...rulesFor('nodefs.available', nodeFs.bytes / 10, random),
    ...rulesFor('nodefs.inodesFree', nodeFs.inodes / 20, random),
    ...(layout.dedicatedImageFs
      ? [
          ...rulesFor('imagefs.available', imageFs.bytes / 8, random),
          ...rulesFor('imagefs.inodesFree', imageFs.inodes / 20, random),
        ]
      : []),
  ];
}

/** A hard threshold; for one node in two also a soft one that is met earlier, and for one in two a minimum reclaim. */
function rulesFor(signal: EvictionSignal, hard: number, random: KeyedRandom): readonly ThresholdRule[] {
  const amount = Math.ceil(hard);
  const minReclaim = random(`${signal}/reclaim`) < 0.5 ? amount : 0;
  const isSoft = random(`${signal}/soft`) < 0.5;
  return [
    { signal, amount, gracePeriodMs: 0, minReclaim },
    ...(isSoft ? [{ signal, amount: 3 * amount, gracePeriodMs: SOFT_GRACE_PERIOD_MS, minReclaim }] : []),
  ];
}
