/** How the kernel says a machine's memory is used: for the built-in eviction plugins. What it does not tell is left out. */
import type { PSIStats } from '../stats.ts';

export interface MachineMemory {
  readonly totalBytes: number;
  /** Not counting cached files, as `MemFree`. */
  readonly freeBytes: number;
  /** `vm.watermark_scale_factor`: how far watermarks are apart, in ten-thousandths of the memory. */
  readonly watermarkScaleFactor?: number;
  /** How many pages kswapd has taken back since the machine was started. */
  readonly kswapdPages?: number;
  /** How long tasks wait for memory. */
  readonly psi?: PSIStats;
}

/** One NUMA node. Free memory and watermarks are those of the zone that programs mostly get their memory from. */
export interface NumaNodeMemory {
  readonly id: number;
  /** Of all zones of the node. */
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Below it programs wait until the kernel has taken memory back. */
  readonly minBytes: number;
  /** Below it kswapd begins to take memory back. */
  readonly lowBytes: number;
  readonly inactiveFileBytes: number;
}

/** Bytes by the number of the NUMA node. */
export type BytesByNumaNode = ReadonlyMap<number, number>;

/** Each call reads the kernel's files. */
export interface NodeMemoryFigures {
  /** Undefined if the kernel does not tell. */
  machine(): MachineMemory | undefined;
  /** Empty if the kernel does not tell. */
  numaNodes(): readonly NumaNodeMemory[];
  /** On which NUMA nodes the memory of pods lies, by UID: only of pods with a cgroup that counts it. */
  podsByNumaNode(): ReadonlyMap<string, BytesByNumaNode>;
}
