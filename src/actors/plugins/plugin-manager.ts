/** The actor that asks eviction plugins, and its effects. */
import type { ActorOptions, ActorRefFrom, AnyActorRef } from 'xstate';
import {
  type EvictionPluginsContext,
  type EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../machines/eviction-plugins-machine.ts';
import type { KnownPod } from '../../policies/eviction-plugins/answer-checks.ts';
import { explainPlugins } from '../../policies/eviction-plugins/explain-plugins.ts';
import { conditionsOf, hardThresholds } from '../../policies/eviction-plugins/plugin-pass.ts';
import type { PluginsExplanation } from '../../policies/eviction-plugins/plugins-explanation.ts';
import { choosePods } from '../../policies/eviction-plugins/pod-choice.ts';
import { isSkipped, shownToPlugins } from '../../policies/eviction-plugins/qos-level.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { ActivePods, PluginCondition } from '../../types/eviction-plugin.ts';
import type { EvictionPluginSettings } from '../../types/node-settings.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { PluginMeasurements } from '../../types/measurements.ts';
import { createActor } from '../agent-actor.ts';
import type { PodRegistry, PodSnapshot } from '../pods/pod-registry.ts';
import type { PodEnd } from '../pods/pod-ends.ts';
import { PluginNews } from './plugin-news.ts';
import type {
  HostedPlugin,
  NodePlugins,
  PluginDirectory,
  PluginSocketView,
  PodKills,
} from './plugin-parts.ts';
import { PluginQuestions } from './plugin-questions.ts';

export interface PluginManagerOptions {
  readonly directory: PluginDirectory;
  readonly kills: PodKills;
  readonly settings: EvictionPluginSettings;
  readonly registry: PodRegistry;
  /** As this node has computed it. */
  readonly statusOf: (uid: string) => PodStatus | undefined;
  /** The UID under which this node knows a pod: for that of a mirror pod the one of its static pod. */
  readonly ownUIDOf: (uid: string) => string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  readonly parent: AnyActorRef;
  readonly inspect?: ActorOptions<typeof evictionPluginsMachine>['inspect'];
  readonly measurements?: PluginMeasurements;
  /** The conditions of plugins are known from now on. */
  readonly onFirstPass?: () => void;
}

const NO_PODS: ActivePods = { pods: [] };

export class PluginManager implements NodePlugins {
  readonly #options: PluginManagerOptions;
  readonly #actor: ActorRefFrom<typeof evictionPluginsMachine>;
  readonly #questions: PluginQuestions;
  readonly #news: PluginNews;
  readonly #period: Timer;
  /** Those that are asked in the pass that is under way, by name. */
  #asked: ReadonlyMap<string, HostedPlugin> = new Map();
  /** The pods of that pass. */
  #activePods = NO_PODS;
  #hasObserved = false;
  #isStopped = false;

  constructor(options: PluginManagerOptions) {
    const { settings, clock, nodeName, measurements, parent, inspect } = options;
    this.#options = options;
    this.#period = new Timer(clock);
    this.#news = new PluginNews(options);
    this.#questions = new PluginQuestions({
      timeoutMs: settings.timeoutMs,
      clock,
      node: { nodeName, find: (uid) => this.#find(uid) },
      ...(measurements && { measurements }),
    });
    this.#actor = createActor(this.#machine(), {
      id: 'evictionPlugins',
      input: { settings },
      parent,
      ...(inspect && { inspect }),
    });
    this.#actor.subscribe({
      error: (error: unknown) =>
        options.logger.error({}, `Eviction plugins: no plugin is asked any more: ${errorMessage(error)}`),
    });
  }

  start(): void {
    this.#options.directory.start();
    this.#actor.start();
  }

  /** Pods that are being ended go on ending. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#period.disarm();
    this.#questions.stop();
    this.#options.kills.stop();
    await this.#options.directory.stop();
  }

  conditions(): readonly PluginCondition[] {
    return conditionsOf(this.#actor.getSnapshot().context.observations);
  }

  podEnded(uid: string, how: PodEnd): void {
    this.#options.kills.podEnded(uid, how);
  }

  sockets(): readonly PluginSocketView[] {
    return this.#options.directory.sockets();
  }

  view(): PluginsExplanation {
    const { directory, kills, clock } = this.#options;
    const { context, value } = this.#actor.getSnapshot();
    const plugins = directory.all().map(({ plugin: { name }, origin, state, since, problem }) => ({
      name,
      origin,
      state: state(),
      sinceMs: since(),
      problem: problem(),
    }));
    return explainPlugins({
      ...context,
      plugins,
      state: typeof value === 'string' ? value : Object.keys(value).join(),
      kills: kills.views(),
      nowMs: clock.now(),
    });
  }

  #send(event: EvictionPluginsEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #machine(): typeof evictionPluginsMachine {
    const { settings } = this.#options;
    return evictionPluginsMachine.provide({
      actions: {
        armPeriod: () => this.#period.arm(settings.syncPeriodMs, () => this.#begin()),
        disarmPeriod: () => this.#period.disarm(),
        askPlugins: ({ context }) => this.#askPlugins(context),
        reportObservations: ({ context }) => this.#observed(context),
        askForTopPods: ({ context }) => this.#askForTopPods(context),
        choosePods: ({ context, self }) => self.send({ type: 'CHOSEN', choice: this.#choice(context) }),
        reportChoice: ({ context }) => this.#news.decided(context.decided),
        endPods: ({ context, self }) => {
          this.#endPods(context);
          self.send({ type: 'HANDED_OVER' });
        },
      },
    });
  }

  #begin(): void {
    const { directory, clock } = this.#options;
    this.#asked = new Map(directory.plugins().map((hosted) => [hosted.plugin.name, hosted]));
    this.#activePods = this.#pods();
    this.#measurePods();
    this.#send({ type: 'PASS_DUE', plugins: [...this.#asked.keys()], nowMs: clock.now() });
  }

  #askPlugins({ awaited }: EvictionPluginsContext): void {
    for (const hosted of this.#hosted(awaited)) {
      void this.#questions.ask(hosted, this.#activePods).then((answers) => {
        this.#send({ type: 'PLUGIN_ANSWERED', answers, nowMs: this.#options.clock.now() });
      });
    }
  }

  #observed(context: EvictionPluginsContext): void {
    const { onFirstPass } = this.#options;
    this.#news.observed(context);
    // While an action runs, the actor's snapshot is the one before.
    if (!this.#hasObserved && onFirstPass) queueMicrotask(onFirstPass);
    this.#hasObserved = true;
  }

  #askForTopPods({ awaited, observations, nowMs }: EvictionPluginsContext): void {
    const thresholds = hardThresholds(observations, nowMs);
    for (const hosted of this.#hosted(awaited)) {
      const plugin = hosted.plugin.name;
      const threshold = thresholds.get(plugin);
      if (threshold === undefined) continue;
      void this.#questions
        .askForTopPods(hosted, this.#activePods, threshold)
        .then(({ answer, refused }) =>
          this.#send({ type: 'TOP_PODS_ANSWERED', plugin, topPods: answer, refused }),
        );
    }
  }

  #hosted(names: readonly string[]): readonly HostedPlugin[] {
    return names.flatMap((name) => this.#asked.get(name) ?? []);
  }

  #choice({ answers, settings }: EvictionPluginsContext) {
    const { kills } = this.#options;
    return choosePods({
      answers,
      settings,
      isUnderWay: (uid) => kills.isUnderWay(uid),
      isEnding: (uid) => this.#find(uid)?.isEnding !== false,
    });
  }

  /** A part that fails to end a pod ends neither the others nor this actor. */
  #endPods({ decided }: EvictionPluginsContext): void {
    const { kills, logger, measurements } = this.#options;
    if (decided === undefined) return;
    const { underWay, ending } = decided.choice;
    measurements?.pluginVictims(
      ending.map(({ plugin, pod: { metadata } }) => ({
        plugin,
        namespace: metadata.namespace,
        name: metadata.name,
      })),
    );
    try {
      kills.kill([...underWay, ...ending]);
    } catch (error) {
      logger.error({}, `Eviction plugins: pods could not be ended: ${errorMessage(error)}`);
    }
  }

  // Pods

  #measurePods(): void {
    const { measurements, registry } = this.#options;
    if (measurements === undefined) return;
    const known = [...registry.entries()].map(({ actor }) => this.#known(actor.getSnapshot()));
    const active = known.filter((pod) => pod !== undefined && !pod.isEnding).length;
    measurements.pluginPods(active, this.#activePods.pods.length);
  }

  /** Those that have neither ended nor begun to end. The same object as before where nothing has changed. */
  #pods(): ActivePods {
    const pods = [...this.#options.registry.entries()].flatMap(({ actor }) => {
      const known = this.#known(actor.getSnapshot());
      if (known === undefined || known.isEnding || known.isSkipped) return [];
      return shownToPlugins(known.pod, this.#options.statusOf(known.pod.metadata.uid));
    });
    const { pods: before } = this.#activePods;
    const isAsBefore = pods.length === before.length && pods.every((pod, index) => pod === before[index]);
    return isAsBefore ? this.#activePods : { pods };
  }

  #find(uid: string): KnownPod | undefined {
    const { registry, ownUIDOf } = this.#options;
    const entry = registry.get(ownUIDOf(uid));
    return entry && this.#known(entry.actor.getSnapshot());
  }

  #known(snapshot: PodSnapshot): KnownPod | undefined {
    const { pod }: { readonly pod: Pod | undefined } = snapshot.context;
    if (pod === undefined) return undefined;
    const isEnding =
      snapshot.hasTag('terminationRequested') || !snapshot.hasTag('couldHaveRunningContainers');
    return { pod, isEnding, isSkipped: isSkipped(pod, this.#options.settings) };
  }
}
