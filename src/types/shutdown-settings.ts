/** How long a node that shuts down gives its pods, by the kubelet's names. */
export interface ShutdownSettings {
  /** All pods together; 0: the shutdown does not wait for pods. */
  readonly shutdownGracePeriodMs: number;
  /** The part of it that is kept for critical pods. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** In place of the two above. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPeriod[];
}

/** The time for the pods of this priority and above, up to the next period. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}
