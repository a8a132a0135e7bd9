import type { PluginCondition } from './eviction-plugin.ts';
import type { Taint } from './kubernetes.ts';

/** Quantities by the name of the resource. */
type Amounts = Readonly<Record<string, string>>;

/** Facts of a node that decide which pods are admitted. */
export interface OwnNodeFacts {
  readonly name: string;
  /** As Go calls them: `linux`, `amd64`. */
  readonly os: string;
  readonly arch: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly capacity: Amounts;
  /** The part of the capacity that pods may use. */
  readonly allocatable: Amounts;
  /** The pressure conditions that are true now, such as `MemoryPressure`, in the order in which messages list them. */
  readonly conditions: readonly string[];
  /** Conditions of the node that eviction plugins report. In a cluster, admission checks the taints that they become. */
  readonly pluginConditions?: readonly PluginCondition[];
}

export interface NodeFacts extends OwnNodeFacts {
  /** Whether the runtime supports `supplementalGroupsPolicy: Strict`, which ignores the groups of the image. */
  readonly supplementalGroupsPolicy: boolean;
  /** The node shuts down: it takes no more pods. */
  readonly isShuttingDown?: boolean;
}
