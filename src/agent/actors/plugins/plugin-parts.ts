/** What the parts of eviction by plugins ask of each other. An agent without plugins loads nothing of it. */
import type { RuledPod } from '../../policies/eviction-plugins/collected-answers.ts';
import type { PassSettings } from '../../policies/eviction-plugins/plugin-pass.ts';
import type {
  ExplainedPluginSetting,
  PluginsExplanation,
  PodKillView,
} from '../../policies/eviction-plugins/plugins-explanation.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { EvictionPlugin, PluginCondition } from '../../../types/eviction-plugin.ts';

export type { PodKillView } from '../../policies/eviction-plugins/plugins-explanation.ts';

export type PluginState = 'Registering' | 'Serving' | 'Failing' | 'Gone';

/** A plugin with its chart. */
export interface HostedPlugin {
  readonly plugin: EvictionPlugin;
  /** `built-in`, or the path of the socket that it registered with. */
  readonly origin: string;
  readonly state: () => PluginState;
  /** Since when it has been in its state, in milliseconds. */
  readonly since: () => number;
  /** Why it is failing, or has not been registered. */
  readonly problem: () => string | undefined;
  /** What the manager tells of a question that it asked: it moves the chart. */
  readonly answered: () => void;
  readonly failed: (problem: string) => void;
}

export interface PluginSocketView {
  readonly path: string;
  readonly isRegistered: boolean;
}

/** All plugins of this node. */
export interface PluginDirectory {
  /** Those that can be asked, Serving or Failing. Each name stands there once. */
  plugins(): readonly HostedPlugin[];
  /** All that are known, also those that have gone since a short while. */
  all(): readonly HostedPlugin[];
  /** The sockets that are there, also of plugins that were not registered. */
  sockets(): readonly PluginSocketView[];
  start(): void;
  stop(): Promise<void>;
}

/** Ends the pods that the rules have chosen. Each kill is a chart. */
export interface PodKills {
  /** A pod that is being killed already is asked again only with a shorter grace period. */
  kill(pods: readonly RuledPod[]): void;
  /** Being killed here, and not gone yet. */
  isUnderWay(uid: string): boolean;
  views(): readonly PodKillView[];
  /** A pod has ended on this node. */
  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void;
  stop(): void;
}

/** Tells pods that want it that a plugin would have them evicted, before each pass ends. */
export interface PodNotices {
  /**
   * `known`: the pods of this node that have not ended. `told`: those that get a notice now. Resolves when all files are written;
   * never rejects.
   */
  tell(known: readonly Pod[], told: readonly RuledPod[]): Promise<void>;
  stop(): Promise<void>;
}

/** Settings that may change from pass to pass. */
export interface FollowedSettings {
  readonly current: PassSettings;
  /** With where each value comes from. */
  readonly explained: readonly ExplainedPluginSetting[];
  /** Why a change is not followed, if so. */
  readonly problem: string | undefined;
  start(): void;
  stop(): Promise<void>;
}

/** The conditions of plugins that count now, in the order of their names. */
export interface StandingConditions {
  conditions(): readonly PluginCondition[];
}

/** Tells conditions as taints. */
export interface TaintLoop {
  start(): void;
  stop(): void;
  /** Why it is not healthy, if so. */
  health(): string | undefined;
}

/** Eviction by plugins, as the agent sees it. */
export interface NodePlugins extends StandingConditions {
  /** The pods of this node are known. */
  start(): void;
  /** Resolves when nothing of it goes on. */
  stop(): Promise<void>;
  /** Called with each end of a pod, whoever ended it. */
  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void;
  /** Why it is not healthy, if so. */
  health(): string | undefined;
  /** The sockets that are there, also of plugins that were not registered. */
  sockets(): readonly PluginSocketView[];
  /** What plugins say and what the rules make of it. */
  view(): PluginsExplanation;
}
