/** The interfaces between the parts of eviction by plugins. An agent without plugins does not load those parts. */
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
  /** The manager reports the result of a question with these: they are events of the chart. */
  readonly answered: () => void;
  readonly failed: (problem: string) => void;
}

export interface PluginSocketView {
  readonly path: string;
  readonly isRegistered: boolean;
}

/** All plugins of this node. */
export interface PluginDirectory {
  /** Those that can be asked: Serving or Failing. Each name occurs once. */
  plugins(): readonly HostedPlugin[];
  /** All known plugins, also those that disappeared a short while ago. */
  all(): readonly HostedPlugin[];
  /** The existing sockets, also of plugins that were not registered. */
  sockets(): readonly PluginSocketView[];
  start(): void;
  stop(): Promise<void>;
}

/** Ends the pods that the rules have chosen. Each kill is a chart. */
export interface PodKills {
  /** A pod that is being killed already is asked again only with a shorter grace period. */
  kill(pods: readonly RuledPod[]): void;
  /** Whether the pod is being killed here, and is not gone yet. */
  isUnderWay(uid: string): boolean;
  views(): readonly PodKillView[];
  /** A pod has ended on this node. */
  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void;
  stop(): void;
}

/** Tells pods that ask for it, before each pass ends, that a plugin would evict them. */
export interface PodNotices {
  /**
   * `known`: the pods of this node that have not ended. `told`: those that get a notice now. Resolves when all files are written;
   * never rejects.
   */
  notify(known: readonly Pod[], notified: readonly RuledPod[]): Promise<void>;
  stop(): Promise<void>;
}

/** Settings that can change while the agent runs. */
export interface FollowedSettings {
  readonly current: PassSettings;
  /** The settings, each with its origin. */
  readonly explained: readonly ExplainedPluginSetting[];
  /** Why the newest change does not apply, if so. */
  readonly problem: string | undefined;
  start(): void;
  stop(): Promise<void>;
}

/** The conditions of plugins that count now, in the order of their names. */
export interface StandingConditions {
  conditions(): readonly PluginCondition[];
}

/** Writes conditions as taints. */
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
  /** Resolves when nothing of it is under way any more. */
  stop(): Promise<void>;
  /** Called with each end of a pod, whoever ended it. */
  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void;
  /** Why it is not healthy, if so. */
  health(): string | undefined;
  /** The existing sockets, also of plugins that were not registered. */
  sockets(): readonly PluginSocketView[];
  /** The answers of the plugins, and what the rules make of them. */
  view(): PluginsExplanation;
}
