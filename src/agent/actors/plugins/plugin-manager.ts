/** The actor that asks eviction plugins, and its effects. */
import type { ActorRefFrom } from 'xstate';
import {
  type EvictionPluginsContext,
  type EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../machines/eviction-plugins-machine.ts';
import type { KnownPod } from '../../policies/eviction-plugins/answer-checks.ts';
import type { RuledPod } from '../../policies/eviction-plugins/collected-answers.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import { explainPlugins } from '../../policies/eviction-plugins/explain-plugins.ts';
import { conditionsOf, isConfirmed } from '../../policies/eviction-plugins/plugin-pass.ts';
import type { PluginsExplanation } from '../../policies/eviction-plugins/plugins-explanation.ts';
import { choosePods } from '../../policies/eviction-plugins/pod-choice.ts';
import { isSkipped, shownToPlugins } from '../../policies/eviction-plugins/qos-level.ts';
import { Timer } from '../../../system/timer.ts';
import { errorMessage } from '../../../types/errors.ts';
import type {
  ActivePods,
  EvictionRecord,
  PluginCondition,
  ThresholdMetAnswer,
} from '../../../types/eviction-plugin.ts';
import type { EvictionPluginSettings } from '../../../types/node-settings.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { createActor } from '../agent-actor.ts';
import type { PodRegistry, PodSnapshot } from '../pods/pod-registry.ts';
import type { PodEnd } from '../pods/pod-terminations.ts';
import { PluginNews } from './plugin-news.ts';
import type {
  FollowedSettings,
  HostedPlugin,
  NodePlugins,
  PluginDirectory,
  PluginSocketView,
  PodKills,
  PodNotices,
  StandingConditions,
  TaintLoop,
} from './plugin-parts.ts';
import { PluginQuestions } from './plugin-questions.ts';

export interface PluginManagerParts {
  readonly directory: PluginDirectory;
  readonly kills: PodKills;
  readonly settings: EvictionPluginSettings;
  readonly registry: PodRegistry;
  /** As this node has computed it. */
  readonly statusOf: (uid: string) => PodStatus | undefined;
  /** The UID under which this node knows a pod: for a mirror pod that of its static pod. */
  readonly ownUIDOf: (uid: string) => string;
  readonly nodeName: string;
  /** Writes the conditions as taints of the node, once they are known; only in a cluster. */
  readonly taintsOf?: (conditions: StandingConditions) => TaintLoop;
  /** Without them, `settings` apply as long as the agent runs. */
  readonly followed?: FollowedSettings | undefined;
  /** The records of candidates that plugins get with their thresholds. */
  readonly recordsOf?: (pods: readonly Pod[]) => readonly EvictionRecord[];
  /** Tells pods of their eviction by a file. */
  readonly notices?: PodNotices | undefined;
  readonly onStopped?: () => void;
}

const PASSES_MISSED = 3;

const NO_PODS: ActivePods = { pods: [] };

export class PluginManager implements NodePlugins {
  readonly #context: ActorContext;
  readonly #parts: PluginManagerParts;
  readonly #actor: ActorRefFrom<typeof evictionPluginsMachine>;
  readonly #questions: PluginQuestions;
  readonly #news: PluginNews;
  readonly #period: Timer;
  readonly #taints: TaintLoop | undefined;
  /** The plugins that the pass under way asks, by name. */
  #asked: ReadonlyMap<string, HostedPlugin> = new Map();
  /** The pods of that pass. */
  #activePods = NO_PODS;
  /** The notices of that pass. */
  #noticed: Promise<void> | undefined;
  #hasObserved = false;
  /** When the latest pass was decided, or the first one could begin; undefined before the start. */
  #decidedMs: number | undefined;
  #isStopped = false;

  constructor(context: ActorContext, parts: PluginManagerParts) {
    const { settings, nodeName, taintsOf } = parts;
    const { clock, logger, parent, inspect } = context;
    this.#context = context;
    this.#parts = parts;
    this.#period = new Timer(clock);
    this.#news = new PluginNews(context);
    const node = { nodeName, find: (uid: string) => this.#find(uid) };
    const recordsOf = (pods: readonly Pod[]) => parts.recordsOf?.(pods) ?? [];
    this.#questions = new PluginQuestions(context, node, settings.timeoutMs, recordsOf);
    this.#taints = taintsOf?.(this);
    this.#actor = createActor(this.#machine(), {
      id: 'evictionPlugins',
      input: { settings },
      parent,
      inspect,
    });
    this.#actor.subscribe({
      error: (error: unknown) =>
        logger.error({}, `Eviction plugins: no plugin is asked any more: ${errorMessage(error)}`),
    });
  }

  start(): void {
    this.#decidedMs = this.#context.clock.now();
    this.#parts.followed?.start();
    this.#parts.directory.start();
    this.#actor.start();
  }

  /** Pods that are being ended go on ending. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#taints?.stop();
    this.#period.disarm();
    this.#questions.stop();
    this.#parts.kills.stop();
    const { directory, notices, followed } = this.#parts;
    await Promise.all([directory.stop(), notices?.stop(), followed?.stop()]);
    this.#parts.onStopped?.();
  }

  conditions(): readonly PluginCondition[] {
    return conditionsOf(this.#actor.getSnapshot().context.observations);
  }

  /** As Katalyst's heartbeat: a problem if three passes in a row have come to no decision. */
  health(): string | undefined {
    const { syncPeriodMs, timeoutMs } = this.#parts.settings;
    if (this.#decidedMs === undefined || this.#isStopped) return undefined;
    const silentMs = this.#context.clock.now() - this.#decidedMs;
    if (silentMs <= PASSES_MISSED * (syncPeriodMs + timeoutMs)) return this.#taints?.health();
    return `eviction plugins: no pass over them has ended for ${shortDuration(Math.round(silentMs))}`;
  }

  podEnded(uid: string, how: PodEnd): void {
    this.#parts.kills.podEnded(uid, how);
  }

  sockets(): readonly PluginSocketView[] {
    return this.#parts.directory.sockets();
  }

  view(): PluginsExplanation {
    const { directory, kills } = this.#parts;
    const { context, value } = this.#actor.getSnapshot();
    const plugins = directory.all().map(({ plugin: { name, isEnabled }, origin, state, since, problem }) => ({
      name,
      isEnabled,
      origin,
      state: state(),
      sinceMs: since(),
      problem: problem(),
    }));
    const { explained, problem } = this.#parts.followed ?? {};
    const explanation = explainPlugins({
      ...context,
      plugins,
      state: typeof value === 'string' ? value : Object.keys(value).join(),
      kills: kills.views(),
      nowMs: this.#context.clock.now(),
    });
    return { ...explanation, settings: explained, settingsProblem: problem };
  }

  #send(event: EvictionPluginsEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #machine(): typeof evictionPluginsMachine {
    const { settings } = this.#parts;
    return evictionPluginsMachine.provide({
      actions: {
        armPeriod: () => this.#period.arm(settings.syncPeriodMs, () => this.#begin()),
        disarmPeriod: () => this.#period.disarm(),
        askPlugins: ({ context }) => this.#askPlugins(context),
        reportObservations: ({ context }) => this.#observed(context),
        choosePods: ({ context, self }) => self.send({ type: 'CHOSEN', choice: this.#choice(context) }),
        reportChoice: ({
          context: {
            decided,
            settings: { dryRun },
          },
        }) => {
          this.#decidedMs = this.#context.clock.now();
          this.#news.decided(decided, dryRun);
          this.#noticed = this.#parts.notices?.notify(this.#running(), decided?.choice.notified ?? []);
        },
        endPods: ({ context, self }) => {
          const later = this.#endPods(context);
          if (later === undefined) self.send({ type: 'HANDED_OVER' });
          else void later.then(() => this.#send({ type: 'HANDED_OVER' }));
        },
      },
    });
  }

  #begin(): void {
    const { directory } = this.#parts;
    this.#asked = new Map(directory.plugins().map((hosted) => [hosted.plugin.name, hosted]));
    this.#activePods = this.#pods();
    this.#measurePods();
    this.#send({
      type: 'PASS_DUE',
      plugins: [...this.#asked.keys()],
      nowMs: this.#context.clock.now(),
      settings: this.#parts.followed?.current,
    });
  }

  #askPlugins({ awaited, observations, nowMs }: EvictionPluginsContext): void {
    const counts = (plugin: string, threshold: ThresholdMetAnswer) =>
      isConfirmed(plugin, threshold, observations, nowMs);
    for (const hosted of this.#hosted(awaited)) {
      void this.#questions
        .ask(hosted, this.#activePods, counts)
        .then((answers) => this.#send({ type: 'PLUGIN_ANSWERED', answers }));
    }
  }

  #observed(context: EvictionPluginsContext): void {
    this.#news.observed(context);
    // While an action runs, the actor's snapshot is the one before.
    if (!this.#hasObserved) queueMicrotask(() => this.#taints?.start());
    this.#hasObserved = true;
  }

  #hosted(names: readonly string[]): readonly HostedPlugin[] {
    return names.flatMap((name) => this.#asked.get(name) ?? []);
  }

  #choice({ answers, settings }: EvictionPluginsContext) {
    const { kills } = this.#parts;
    return choosePods({
      answers,
      settings,
      isUnderWay: (uid) => kills.isUnderWay(uid),
      isEnding: (uid) => this.#find(uid)?.isEnding !== false,
    });
  }

  /** A pod that gets a notice ends only after the file is written; undefined if there is no notice. Never rejects. */
  #endPods({ decided }: EvictionPluginsContext): Promise<void> | undefined {
    if (decided === undefined) return undefined;
    const { underWay, ending, notified } = decided.choice;
    const notifiedUids = new Set(this.#noticed && notified.map(({ pod }) => pod.metadata.uid));
    const waiting = ending.filter(({ pod }) => notifiedUids.has(pod.metadata.uid));
    this.#kill([...underWay, ...ending.filter((ruled) => !waiting.includes(ruled))]);
    return waiting.length === 0 ? undefined : this.#noticed?.then(() => this.#kill(waiting));
  }

  /** A failure to end one pod stops neither the other ends nor this actor. */
  #kill(pods: readonly RuledPod[]): void {
    try {
      this.#parts.kills.kill(pods);
    } catch (error) {
      const { logger } = this.#context;
      logger.error({}, `Eviction plugins: pods could not be ended: ${errorMessage(error)}`);
    }
  }

  #measurePods(): void {
    const { measurements } = this.#context;
    if (measurements === undefined) return;
    const known = [...this.#parts.registry.entries()].map(({ actor }) => this.#known(actor.getSnapshot()));
    const active = known.filter((pod) => pod !== undefined && !pod.isEnding).length;
    measurements.plugins.pods(active, this.#activePods.pods.length);
  }

  /** Pods that have neither ended nor begun to end. Where nothing has changed, the list is the same as before; each pass has an object of its own. */
  #pods(): ActivePods {
    const pods = [...this.#parts.registry.entries()].flatMap(({ actor }) => {
      const known = this.#known(actor.getSnapshot());
      if (known === undefined || known.isEnding || known.isSkipped) return [];
      return shownToPlugins(known.pod, this.#parts.statusOf(known.pod.metadata.uid));
    });
    const { pods: before } = this.#activePods;
    const isAsBefore = pods.length === before.length && pods.every((pod, index) => pod === before[index]);
    return { pods: isAsBefore ? before : pods };
  }

  #running(): readonly Pod[] {
    return [...this.#parts.registry.entries()].flatMap(({ actor }) => {
      const snapshot: PodSnapshot = actor.getSnapshot();
      const { pod }: { readonly pod: Pod | undefined } = snapshot.context;
      return pod !== undefined && snapshot.hasTag('couldHaveRunningContainers') ? [pod] : [];
    });
  }

  #find(uid: string): KnownPod | undefined {
    const { registry, ownUIDOf } = this.#parts;
    const entry = registry.get(ownUIDOf(uid));
    return entry && this.#known(entry.actor.getSnapshot());
  }

  #known(snapshot: PodSnapshot): KnownPod | undefined {
    const { pod }: { readonly pod: Pod | undefined } = snapshot.context;
    if (pod === undefined) return undefined;
    const isEnding =
      snapshot.hasTag('terminationRequested') || !snapshot.hasTag('couldHaveRunningContainers');
    return { pod, isEnding, isSkipped: isSkipped(pod, this.#parts.settings) };
  }
}
