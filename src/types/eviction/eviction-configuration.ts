type Texts = Readonly<Record<string, string>>;

/** The settings of eviction, by the kubelet's names. */
export interface EvictionConfiguration {
  /** By signal (`memory.available`), the quantity or percentage below which pods are evicted at once. */
  readonly evictionHard: Texts;
  /** The same for soft thresholds: pods are evicted when the signal has been below for its grace period. */
  readonly evictionSoft: Texts;
  /** Durations, by signal. */
  readonly evictionSoftGracePeriod: Texts;
  /** How much above the threshold the signal must be before eviction stops, by signal. */
  readonly evictionMinimumReclaim: Texts;
  /** By signal (`memory.pressure.full.avg10`), the percentage of the time that tasks wait above which pods are evicted. */
  readonly evictionPSI: Texts;
  /** How long it must be above that, by signal. Without it, pods are evicted at once. */
  readonly evictionPSIGracePeriod: Texts;
  /** The longest grace period of a pod that is evicted for a soft threshold, in seconds. */
  readonly evictionMaxPodGracePeriod: number;
  /** How long a pressure condition stays after the last time that its threshold was met. */
  readonly evictionPressureTransitionPeriodMs: number;
  /** Whether signals that are not in `evictionHard` keep their default thresholds. */
  readonly mergeDefaultEvictionSettings: boolean;
  /** Whether limits of local storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
}
