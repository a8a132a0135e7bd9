/** What of the node's devices, CPUs and memory is given out to single containers, and what there is of it. */

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

export interface HeldResources {
  readonly devices: readonly HeldDevices[];
  /** CPUs that nobody else uses; of all that can be given out, those that are not reserved. */
  readonly cpuIDs: readonly number[];
  readonly memory: readonly HeldMemory[];
}

/** Where the parts of a node that give such resources out are asked for them. */
export interface ResourceHolders {
  ofContainer(podUID: string, container: string): HeldResources;
  /** All that containers can be given, whether it is taken or not. */
  allocatable(): HeldResources;
}
