import type { Taint } from './kubernetes.ts';

/** Quantities by the name of the resource. */
type Amounts = Readonly<Record<string, string>>;

/** What its machine and its operator make a node, where that decides which pods may come. */
export interface OwnNodeFacts {
  readonly name: string;
  /** As Go calls them: `linux`, `amd64`. */
  readonly os: string;
  readonly arch: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly capacity: Amounts;
  /** What of its capacity pods may have. */
  readonly allocatable: Amounts;
  /** The conditions of pressure that hold now, in the order in which they are named: `MemoryPressure`, … */
  readonly conditions: readonly string[];
}

export interface NodeFacts extends OwnNodeFacts {
  /** Whether the runtime can keep a container out of the groups that its image names. */
  readonly supplementalGroupsPolicy: boolean;
}
