/** Settings of eviction plugins. The defaults are Katalyst's where it has the setting. */

/** How a pod that plugins have chosen is ended. */
export const POD_KILLERS = ['SyncPodKill', 'EvictionAPI', 'DeletionAPI'] as const;
export type PodKillerName = (typeof POD_KILLERS)[number];

export interface EvictionPluginSettings {
  /** Without it no plugin is loaded or asked. */
  readonly enabled: boolean;
  /** From one pass to the next. */
  readonly syncPeriodMs: number;
  /** How long a plugin has for an answer. */
  readonly timeoutMs: number;
  /** Names of plugins whose answers are counted and never acted on; `*` for all, `-NAME` for all but one. */
  readonly dryRun: readonly string[];
  /** Names of built-in plugins that are asked; written like `dryRun`. */
  readonly innerPlugins: readonly string[];
  /** How long a condition counts after it was last observed. */
  readonly conditionTransitionPeriodMs: number;
  /** At most so many pods are ended in one pass; below 0: all. */
  readonly evictionBurst: number;
  /** A pod with one of these annotations, or labels, is shown to no plugin. */
  readonly skippedAnnotations: readonly string[];
  readonly skippedLabels: readonly string[];
  /** By QoS level (`reclaimed_cores`); a level that is left out: the Eviction API for pods of the API server, `SyncPodKill` for others. */
  readonly killers: Readonly<Record<string, PodKillerName>>;
  /** The folder in which sockets of plugins appear. Empty: `plugins_registry` in the root folder. */
  readonly registryDir: string;
  /**
   * With whose rights conditions become taints: a node may not change its own taints (NodeRestriction). Empty: with the node's own, which
   * works where that admission plugin is off.
   */
  readonly taintsKubeconfig: string;
}
