/** The answers of eviction plugins and the decisions about them, for people. All times are Unix milliseconds. */
import type { ThresholdMetType } from '../../../types/eviction-plugin.ts';

/** One pod that is being ended for plugins. */
export interface PodKillView {
  readonly uid: string;
  readonly pod: string;
  readonly plugin: string;
  readonly reason: string;
  readonly killer: string;
  /** The state of its chart. */
  readonly state: string;
  readonly sinceMs: number;
  /** The latest answer that was no success. */
  readonly problem: string | undefined;
}

/** A pod that a plugin has named, as `namespace/name`. */
export interface WantedPod {
  readonly pod: string;
  readonly uid: string;
  readonly reason: string;
  readonly forceEvict: boolean;
  /** Undefined: the pod's own grace period. */
  readonly gracePeriodSeconds: number | undefined;
}

export interface ExplainedPlugin {
  readonly name: string;
  /** `built-in`, or the path of its socket. */
  readonly origin: string;
  /** `Registering`, `Serving`, `Failing` or `Gone`. */
  readonly state: string;
  readonly sinceMs: number;
  /** Why it is failing, or has not been registered. */
  readonly problem: string | undefined;
  /** Only of one that is built in. False: its settings say that it has nothing to answer. */
  readonly isEnabled?: boolean;
  /** Its answers are counted and never acted on. */
  readonly isDryRun: boolean;
  /** What it answered last to each question; undefined where it has not answered in the latest pass. */
  readonly evictPods: readonly WantedPod[] | undefined;
  readonly threshold: ExplainedPluginThreshold | undefined;
  /** Asked only where its threshold has been confirmed. */
  readonly topPods: readonly WantedPod[] | undefined;
  /** What of its answers in the latest pass was not accepted, as sentences. */
  readonly refused: readonly string[];
}

export interface ExplainedPluginThreshold {
  readonly metType: ThresholdMetType;
  readonly scope: string;
  readonly thresholdValue: number;
  readonly observedValue: number;
  readonly gracePeriodSeconds: number;
  /** Since when it has been met without a break; undefined where it is not met. */
  readonly firstObservedMs: number | undefined;
  /** Its grace period is over: a hard one has a pod ended, a soft one names candidates. */
  readonly isConfirmed: boolean;
}

export interface ExplainedPluginCondition {
  readonly name: string;
  /** Those of taints: `NoSchedule`. */
  readonly effects: readonly string[];
  readonly lastObservedMs: number;
  /** It counts: it was observed less than a transition period ago. */
  readonly stands: boolean;
}

/** The decision about a pod that plugins have named. */
export type PodVerdict = 'Goes' | 'Queued' | 'BeingEnded' | 'Stays' | 'Notified';

/** A pod that plugins have named, and why it goes or stays. */
export interface ExplainedPluginCandidate {
  /** As `namespace/name`. */
  readonly pod: string;
  readonly uid: string;
  readonly plugin: string;
  readonly reason: string;
  /** It goes in any case. Otherwise it is one of the candidates, of which the least important one goes. */
  readonly forceEvict: boolean;
  /** `force`, `memory`, `cpu`, `soft` or another name. */
  readonly scope: string;
  readonly gracePeriodSeconds: number | undefined;
  readonly verdict: PodVerdict;
  /** A sentence. */
  readonly why: string;
}

/** A setting that can change while the agent runs. */
export interface ExplainedPluginSetting {
  /** Its field in `evictionPlugins`. */
  readonly name: string;
  readonly value: string;
  /** A flag, files, or `the default`. */
  readonly from: string;
}

export interface PluginsExplanation {
  /** Those that hold from the next pass on. */
  readonly settings?: readonly ExplainedPluginSetting[];
  /** Why changed files are not followed, if so. */
  readonly settingsProblem?: string;
  /** In the order of their names. */
  readonly plugins: readonly ExplainedPlugin[];
  /** When the latest pass was decided; undefined before the first. */
  readonly decidedMs: number | undefined;
  /** `Waiting`, `Collecting`, `Choosing`, `Killing`. */
  readonly state: string;
  /** The plugins whose answers the pass under way waits for. */
  readonly awaited: readonly string[];
  readonly conditions: readonly ExplainedPluginCondition[];
  /** Of the latest pass: first the pods that go in any case, then the candidates, the most important first. */
  readonly candidates: readonly ExplainedPluginCandidate[];
  /** The latest pass by which pods ended, if there was one: what was named in it, and why each went or stayed. */
  readonly ended?: { readonly decidedMs: number; readonly candidates: readonly ExplainedPluginCandidate[] };
  /** The pods that wait for their turn, as `namespace/name`: no more than a burst of them go in one pass. */
  readonly queue: readonly string[];
  readonly kills: readonly PodKillView[];
}
