type Texts = Readonly<Record<string, string>>;

/** What the operator has set of eviction, by the kubelet's names. */
export interface EvictionConfiguration {
  /** By signal (`memory.available`), the quantity or percentage below which pods are evicted at once. */
  readonly evictionHard: Texts;
  /** The same, for pods that are evicted once it has lasted for the signal's grace period. */
  readonly evictionSoft: Texts;
  /** Durations, by signal. */
  readonly evictionSoftGracePeriod: Texts;
  /** How much more than the threshold has to be there again, by signal. */
  readonly evictionMinimumReclaim: Texts;
  /** By signal (`memory.pressure.full.avg10`), the percentage of the time that tasks wait above which pods are evicted. */
  readonly evictionPSI: Texts;
  /** How long that has to last, by signal. Without one, pods are evicted at once. */
  readonly evictionPSIGracePeriod: Texts;
  /** The most that a pod which is evicted for a soft threshold has to end, in seconds. */
  readonly evictionMaxPodGracePeriod: number;
  /** How long a condition of pressure holds after it was last brought about. */
  readonly evictionPressureTransitionPeriodMs: number;
  /** Whether the signals that `evictionHard` leaves out have their defaults. */
  readonly mergeDefaultEvictionSettings: boolean;
  /** Whether limits of local storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
}
