/** What of the node's devices, CPUs and memory is given out to single containers, and what there is of it. */
import type { Container, Pod } from './kubernetes.ts';

export interface HeldDevices {
  /** `example.com/gpu`. */
  readonly resourceName: string;
  readonly deviceIDs: readonly string[];
  /** The NUMA nodes of the devices, where they are known. */
  readonly numaNodes?: readonly number[];
}

export interface HeldMemory {
  /** `memory`, `hugepages-2Mi`. */
  readonly memoryType: string;
  readonly sizeBytes: number;
  readonly numaNodes: readonly number[];
}

/** A ResourceClaim, with what its drivers have prepared. */
export interface HeldClaim {
  readonly name: string;
  readonly namespace: string;
  readonly drivers: Readonly<
    Record<
      string,
      readonly {
        readonly pool: string;
        readonly device: string;
        /** Empty: the device is not shared. */
        readonly shareId: string;
        readonly cdiIds: readonly string[];
      }[]
    >
  >;
}

export interface HeldResources {
  readonly devices: readonly HeldDevices[];
  /** Exclusive CPUs; for the allocatable ones, those that are not reserved. */
  readonly cpuIDs: readonly number[];
  readonly memory: readonly HeldMemory[];
}

/** Asks the parts of a node that give out such resources. */
export interface ResourceHolders {
  ofContainer(pod: Pod, container: Container): HeldResources & { readonly claims: readonly HeldClaim[] };
  /** All that containers can be given, whether it is taken or not. */
  allocatable(): HeldResources;
}
