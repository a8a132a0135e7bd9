/** The types of `statelet/eviction-plugin`. They are published, with the comments: this file imports nothing. */

/** A pod of this node, as JSON: times are strings. All fields of core/v1 are there; those that most plugins need are named here. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
    readonly ownerReferences?: readonly OwnerReference[];
    readonly [field: string]: unknown;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly priority?: number;
    readonly priorityClassName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly [field: string]: unknown;
  };
  readonly status?: {
    readonly phase?: string;
    readonly qosClass?: string;
    readonly startTime?: string;
    readonly podIP?: string;
    readonly [field: string]: unknown;
  };
}

export interface OwnerReference {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

/** The fields of a pod that an answer must have. The pods of a question have it. */
export interface PodReference {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
}

export interface PluginQuestion {
  /** The pods of this node that may be chosen. */
  readonly activePods: readonly Pod[];
  /** Aborts when the agent does not wait for the answer any longer, and when the plugin stops. */
  readonly signal: AbortSignal;
}

export interface TopEvictionPodsQuestion extends PluginQuestion {
  /** How many pods are wanted at most: 1 for a hard threshold. 0 for a soft one: all that would be candidates. */
  readonly topN: number;
  /** The scope of the threshold that has been met. */
  readonly scope: string;
  /** Of the `candidatePods` that the plugin has named, as far as the agent knows something of them. */
  readonly records: readonly EvictionRecord[];
}

/** The disruption budget of a pod, and what was evicted of its owner on this node within the last hour. */
export interface EvictionRecord {
  readonly uid: string;
  readonly hasPdb: boolean;
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  /** So many evictions in so many seconds from that time on, in Unix seconds. */
  readonly buckets: readonly { readonly time: number; readonly duration: number; readonly count: number }[];
}

/** A condition of the node. It becomes a taint. */
export interface PluginCondition {
  /** Such as `MemoryPressure`. */
  readonly name: string;
  /** Default: `NODE_CONDITION`. */
  readonly type?: 'NODE_CONDITION' | 'CNR_CONDITION';
  /** Those of taints: `NoSchedule`, `PreferNoSchedule`, `NoExecute`. */
  readonly effects: readonly string[];
  readonly met: boolean;
}

export interface EvictPod {
  readonly pod: PodReference;
  /** For people: it stands in the log, in the pod's status and in events. */
  readonly reason: string;
  /** `true`: the pod goes. Default: it is a candidate, and the least important candidate of all plugins goes. */
  readonly forceEvict?: boolean;
  /** Default: the pod's own. */
  readonly gracePeriodSeconds?: number;
}

export interface EvictPodsAnswer {
  readonly evictPods?: readonly EvictPod[];
  readonly condition?: PluginCondition;
}

export interface ThresholdMetAnswer {
  /** `HARD_MET`: pods are chosen once it has been met for the grace period. `SOFT_MET`: then candidates are, of which at most one goes. */
  readonly metType: 'NOT_MET' | 'SOFT_MET' | 'HARD_MET';
  /** What the threshold is about, such as `memory`. Needed where it is met. */
  readonly scope?: string;
  readonly thresholdValue?: number;
  readonly observedValue?: number;
  /** Whether it is met above or below its value; for people. Default: `GREATER_THAN`. */
  readonly operator?: 'LESS_THAN' | 'GREATER_THAN';
  /** Default: 0. */
  readonly gracePeriodSeconds?: number;
  readonly condition?: PluginCondition;
  readonly candidatePods?: readonly PodReference[];
}

export interface TopEvictionPodsAnswer {
  readonly targetPods?: readonly PodReference[];
  /** Default: the pods' own. */
  readonly gracePeriodSeconds?: number;
}

type Answer<T> = T | undefined | Promise<T | undefined>;

/**
 * What a plugin is. Each function may be left out, and may answer `undefined`: no pods, no threshold. One that throws answers with an error,
 * which the agent shows with the plugin's name.
 */
export interface EvictionPluginDefinition {
  /** Letters, digits, `-`, `_` and `.`: it is also the name of the socket. */
  readonly name: string;
  /** Asked in each pass: which pods should go now. */
  evictPods?(question: PluginQuestion): Answer<EvictPodsAnswer>;
  /** Asked in each pass: whether something is short. */
  thresholdMet?(question: PluginQuestion): Answer<ThresholdMetAnswer>;
  /**
   * Asked when the threshold has been met for its grace period: which pod should go for it, or, where `topN` is 0, which pods are candidates
   * beside those of other plugins.
   */
  topEvictionPods?(question: TopEvictionPodsQuestion): Answer<TopEvictionPodsAnswer>;
}

/** A user that the agent knows. */
export interface PluginUser {
  readonly name: string;
  readonly password: string;
}

export interface EvictionPluginOptions {
  /**
   * The folder in which the agent looks for sockets of plugins. Default: `plugins_registry` in `$STATELET_ROOT_DIR`, which is the root folder of
   * the agent (`--root-dir`).
   */
  readonly registryDir?: string;
  /**
   * Whose plugin it is, for agents that want to know (`strictAuthentication`). Read each time when an agent asks, such as from a file with
   * the password.
   */
  readonly user?: () => PluginUser | Promise<PluginUser>;
  /** Takes what happens, a line each time. Default: standard error. */
  readonly log?: (line: string) => void;
  /** Whether SIGTERM, SIGINT and SIGHUP stop the plugin and end the process with exit code 0. Default: `true`. */
  readonly handleSignals?: boolean;
}

/** Whether an agent asks: `Waiting` for one to register the plugin, `Registered`, or `Refused` by the agent. */
export type Registration = 'Waiting' | 'Registered' | 'Refused';

export interface RunningEvictionPlugin {
  readonly name: string;
  /** The path of its socket. */
  readonly socket: string;
  registration(): Registration;
  /** Removes the socket, waits a moment for the answers under way, and resolves when nothing is left. May be called again. */
  stop(): Promise<void>;
}
