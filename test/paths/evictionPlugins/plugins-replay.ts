/** One path of the chart of eviction plugins, replayed against the production agent: its plugins answer, fail and hang as the path says. */
import { expect } from '@jest/globals';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type {
  EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../../src/machines/eviction-plugins-machine.ts';
import type { NamedPod } from '../../../src/types/eviction-plugin.ts';
import { PluginBed } from '../../actors/plugins/plugin-bed.ts';
import {
  type FakePlugin,
  met,
  named,
  NOT_MET,
  PLUGIN_SETTINGS,
  wanted,
} from '../../support/eviction-plugins.ts';
import type { Coverage } from '../coverage.ts';
import type { Path } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  essenceOf,
  factsOf,
  isOutcome,
  type PluginName,
  type PluginsState,
  PODS,
  type Way,
} from './plugins-environment.ts';

type PluginsPath = Path<typeof evictionPluginsMachine>;

export async function replayPlugins(path: PluginsPath, coverage: Coverage): Promise<void> {
  const replay = new PluginsReplay(path, coverage);
  const steps = async () => {
    await replay.prepare();
    for (const index of path.keys()) await replay.step(index);
    await replay.finish();
  };
  await replaying({ path, coverage, steps, end: () => replay.stop() });
}

type Question = 'evicts' | 'threshold' | 'top';

/** A plugin whose answers are given later. */
class AskedPlugin {
  readonly #plugin: FakePlugin;
  readonly #open = new Map<Question, PromiseWithResolvers<unknown>>();

  constructor(plugin: FakePlugin) {
    this.#plugin = plugin;
    for (const question of ['evicts', 'threshold', 'top'] as const)
      plugin[question] = () => {
        const answer = Promise.withResolvers<unknown>();
        this.#open.set(question, answer);
        return answer.promise;
      };
  }

  get questions(): readonly string[] {
    return this.#plugin.questions;
  }

  does(way: Way): void {
    const pod: NamedPod = named(PODS[this.#plugin.name as PluginName]);
    const failure = new Error('no figures');
    if (way === 'Top') this.#open.get('top')?.resolve({ targetPods: [pod] });
    if (way === 'TopFails') this.#open.get('top')?.reject(failure);
    if (way === 'Fails')
      for (const question of ['evicts', 'threshold'] as const) this.#open.get(question)?.reject(failure);
    if (way !== 'Quiet' && way !== 'Names' && way !== 'Meets') return;
    this.#open.get('evicts')?.resolve({ evictPods: way === 'Names' ? [wanted(pod)] : [] });
    this.#open.get('threshold')?.resolve(way === 'Meets' ? met() : NOT_MET);
  }
}

class PluginsReplay {
  readonly #path: PluginsPath;
  readonly #coverage: Coverage;
  readonly #bed = new PluginBed();
  readonly #plugins: Readonly<Record<PluginName, AskedPlugin>>;
  readonly #hosted;
  /** The events that the actor has received, and its state after each. */
  readonly #taken: { readonly event: EvictionPluginsEvent; readonly state: PluginsState }[] = [];

  constructor(path: PluginsPath, coverage: Coverage) {
    this.#path = path;
    this.#coverage = coverage;
    this.#plugins = {
      p: new AskedPlugin(this.#bed.plugin('p')),
      q: new AskedPlugin(this.#bed.plugin('q')),
    };
    this.#hosted = [...this.#bed.directory.hosted];
  }

  async prepare(): Promise<void> {
    await this.#bed.start({}, (event) => {
      this.#coverage.inspect(event);
      this.#listen(event);
    });
    // Pods that plugins name stay, so that they can be named in the next pass too.
    this.#bed.kills.end = () => undefined;
    await this.#bed.run(PODS.p, PODS.q);
  }

  async step(index: number): Promise<void> {
    const { name, event, after } = this.#path[index]!;
    if (!isOutcome(name)) await this.#bringAbout(name);
    await this.#bed.ground.until(`${name} to reach the actor`, () => this.#taken.length > index);
    const taken = this.#taken[index]!;
    expect(essenceOf(taken.event)).toEqual(essenceOf(event));
    expect(factsOf(taken.state)).toEqual(factsOf(after));
    const next = this.#path[index + 1];
    if (next === undefined || !isOutcome(next.name)) this.#bed.kills.underWay.clear();
  }

  /** A pass ends when the time of all plugins is up, and the next one begins a period later, not before. */
  async finish(): Promise<void> {
    const { timeoutMs, syncPeriodMs } = PLUGIN_SETTINGS;
    const { clock } = this.#bed.ground;
    const isWaiting = () => this.#taken.at(-1)?.state.matches('Waiting') !== false;
    // All plugins hang at most when they are asked, and when they are asked for pods.
    for (let rounds = 0; rounds < 2 && !isWaiting(); rounds += 1) {
      await clock.advance(timeoutMs);
      await this.#bed.ground.until(
        'the actor to go on',
        () => isWaiting() || this.#bed.manager.view().awaited.length > 0,
      );
    }
    expect(isWaiting()).toBe(true);
    this.#checkKills();
    this.#checkQuestions();
    const steps = this.#taken.length;
    if (steps > 0) await clock.advance(syncPeriodMs - 1);
    expect(this.#taken.length).toBe(steps);
    await clock.advance(1);
    expect(this.#taken[steps]?.event.type).toBe('PASS_DUE');
  }

  async stop(): Promise<void> {
    await this.#bed.stop();
  }

  async #bringAbout(name: string): Promise<void> {
    const { clock } = this.#bed.ground;
    if (name === 'due' || name === 'dueForNone') {
      const asked = name === 'due' ? this.#hosted : [];
      this.#bed.directory.hosted.splice(0, Infinity, ...asked);
      await clock.advance(PLUGIN_SETTINGS.syncPeriodMs);
      return;
    }
    const way = name.slice(1) as Way;
    this.#plugins[name.slice(0, 1) as PluginName].does(way);
    if (way.endsWith('Hangs')) await clock.advance(PLUGIN_SETTINGS.timeoutMs);
  }

  /** Pods are handed over as they were chosen, and only then. */
  #checkKills(): void {
    const chosen = this.#taken.flatMap(({ event }) =>
      event.type === 'CHOSEN' && event.choice.ending.length > 0
        ? [event.choice.ending.map(({ pod }) => pod.metadata.name)]
        : [],
    );
    expect(this.#bed.kills.calls).toEqual(chosen);
  }

  /** Each plugin is asked each question once in a pass. */
  #checkQuestions(): void {
    const passes = this.#taken.filter(
      ({ event }) => event.type === 'PASS_DUE' && event.plugins.length > 0,
    ).length;
    for (const { questions } of Object.values(this.#plugins)) {
      const asked = (question: string) => questions.filter((one) => one.startsWith(question)).length;
      expect([asked('GetEvictPods'), asked('ThresholdMet')]).toEqual([passes, passes]);
      expect(asked('GetTop')).toBeLessThanOrEqual(passes);
    }
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.snapshot' || event.event.type.startsWith('xstate.')) return;
    if ((event.actorRef as AnyActorRef).id !== 'evictionPlugins') return;
    this.#taken.push({ event: event.event as EvictionPluginsEvent, state: event.snapshot as PluginsState });
  }
}
