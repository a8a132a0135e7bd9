/** The paths of the chart of eviction plugins, replayed against the production agent on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import type { AnyActorRef, InspectionEvent, SnapshotFrom } from 'xstate';
import {
  type EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../../src/agent/machines/eviction-plugins-machine.ts';
import type { PluginAnswers } from '../../../src/agent/policies/eviction-plugins/plugin-pass.ts';
import { choosePods, type PluginChoice } from '../../../src/agent/policies/eviction-plugins/pod-choice.ts';
import type { NamedPod } from '../../../src/types/eviction-plugin.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { lastingPod } from '../../agent/actors/eviction/eviction-bed.ts';
import { PluginBed } from '../../agent/actors/plugins/plugin-bed.ts';
import {
  type FakePlugin,
  met,
  named,
  NOT_MET,
  PLUGIN_SETTINGS,
  wanted,
} from '../../support/eviction-plugins.ts';
import { Coverage } from '../coverage.ts';
import { type Environment, type Path, shortestPaths, simplePaths } from '../paths.ts';
import { replaying } from '../replaying.ts';

const coverage = new Coverage(evictionPluginsMachine);

afterAll(() => coverage.print('whatever comes, and every way'));

test('the agent follows the machine for every event in every state', async () => {
  const paths = shortestPaths(PLUGINS_ENVIRONMENT);
  expect(paths.length).toBeGreaterThan(40);
  for (const path of paths) await replayPlugins(path, coverage);
});

const WAY = [
  ...['due', 'dueForNone', 'pNames', 'pMeets', 'qQuiet', 'qMeets', 'qMeetsAndFails'],
  ...['choosesNone', 'choosesP', 'choosesQ', 'choosesBoth', 'handedOver'],
];

test('the agent follows the machine on every path', async () => {
  const paths = simplePaths(PLUGINS_ENVIRONMENT, WAY);
  expect(paths.length).toBeGreaterThan(20);
  for (const path of paths) await replayPlugins(path, coverage);
});

test('the paths cover every transition, state and guard', () => {
  expect(coverage.uncovered()).toEqual([]);
});

type PluginsState = SnapshotFrom<typeof evictionPluginsMachine>;

/** Each plugin names a pod of its own. */
const PODS = { p: lastingPod('of-p'), q: lastingPod('of-q') } as const;

type PluginName = keyof typeof PODS;

/**
 * What a plugin can do when it is asked in `Collecting`; one that meets its threshold names a pod for it, fails, or hangs when it is asked
 * for pods. To hang takes time, in which the others would hang too.
 */
const WAYS = ['Quiet', 'Names', 'Meets', 'MeetsAndFails', 'MeetsAndHangs', 'Fails', 'Hangs'] as const;

type Way = (typeof WAYS)[number];

/** The threshold of q is a soft one. */
const metBy = (plugin: string) => met({ metType: plugin === 'q' ? 'SOFT_MET' : 'HARD_MET' });

const answersIn = (plugin: PluginName, way: Way): PluginAnswers => {
  if (way === 'Fails' || way === 'Hangs') return { plugin, refused: [] };
  const evictPods = { evictPods: way === 'Names' ? [wanted<Pod>(PODS[plugin])] : [] };
  const threshold = way.startsWith('Meets') ? metBy(plugin) : NOT_MET;
  const topPods = way === 'Meets' && { topPods: { targetPods: [PODS[plugin]] } };
  return { plugin, evictPods, threshold, ...topPods, refused: [] };
};

const answered = (plugin: PluginName, way: Way): EvictionPluginsEvent => ({
  type: 'PLUGIN_ANSWERED',
  answers: answersIn(plugin, way),
});

function choiceFor(answers: readonly PluginAnswers[]): PluginChoice {
  return choosePods({
    answers,
    settings: PLUGIN_SETTINGS,
    isUnderWay: () => false,
    isEnding: () => false,
  });
}

const chosen = (...plugins: readonly PluginName[]): EvictionPluginsEvent => ({
  type: 'CHOSEN',
  choice: choiceFor(plugins.map((plugin) => answersIn(plugin, 'Names'))),
});

/** Results of the actor's own actions. They come at once, before any other event. */
const OUTCOMES: Readonly<Record<string, EvictionPluginsEvent>> = {
  choosesNone: chosen(),
  choosesP: chosen('p'),
  choosesQ: chosen('q'),
  choosesBoth: chosen('p', 'q'),
  handedOver: { type: 'HANDED_OVER' },
};

const EVENTS: Readonly<Record<string, EvictionPluginsEvent>> = {
  due: { type: 'PASS_DUE', plugins: ['p', 'q'], nowMs: 0 },
  dueForNone: { type: 'PASS_DUE', plugins: [], nowMs: 0 },
  ...OUTCOMES,
  ...Object.fromEntries(
    (['p', 'q'] as const).flatMap((plugin) =>
      WAYS.map((way) => [`${plugin}${way}`, answered(plugin, way)] as const),
    ),
  ),
};

function isOutcome(name: string): boolean {
  return name in OUTCOMES;
}

const PLUGINS_ENVIRONMENT: Environment<typeof evictionPluginsMachine> = {
  machine: evictionPluginsMachine,
  input: { settings: PLUGIN_SETTINGS },
  events: EVENTS,
  possible,
  label: (state) => JSON.stringify(factsOf(state)),
};

function possible(state: PluginsState): readonly string[] {
  const { awaited, answers } = state.context;
  const isLast = awaited.length === 1;
  if (state.matches('Waiting')) return ['due', 'dueForNone'];
  if (state.matches('Collecting'))
    return namesOf(awaited, isLast ? WAYS : WAYS.filter((way) => !way.endsWith('Hangs')));
  if (state.matches('Killing')) return ['handedOver'];
  const ending = namesIn(choiceFor(answers));
  if (ending.length === 2) return ['choosesBoth'];
  return [{ 'of-p': 'choosesP', 'of-q': 'choosesQ' }[ending[0] ?? ''] ?? 'choosesNone'];
}

function namesOf(plugins: readonly string[], ways: readonly Way[]): readonly string[] {
  return plugins.flatMap((plugin) => ways.map((way) => plugin + way));
}

function namesIn({ ending }: PluginChoice): readonly string[] {
  return ending.map(({ pod }) => pod.metadata.name).sort();
}

/** The compared part of an event. */
function essenceOf(event: EvictionPluginsEvent): object {
  const { type } = event;
  if (type === 'PASS_DUE') return { type, plugins: event.plugins };
  if (type === 'PLUGIN_ANSWERED') return { type, answers: shortly(event.answers) };
  return type === 'CHOSEN' ? { type, ending: namesIn(event.choice) } : { type };
}

/** The compared part of a state. What was decided stands only while no pass is under way. */
function factsOf({ value, context }: PluginsState): object {
  const { awaited, answers, decided } = context;
  if (value === 'Waiting') return { value, ending: decided && namesIn(decided.choice) };
  return { value, awaited, answers: answers.map(shortly).sort((a, b) => (a.plugin < b.plugin ? -1 : 1)) };
}

function shortly({ plugin, evictPods, threshold, topPods }: PluginAnswers) {
  const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);
  return {
    plugin,
    evicts: evictPods && names(evictPods.evictPods.map(({ pod }) => pod)),
    threshold: threshold?.metType,
    top: topPods && names(topPods.targetPods),
  };
}

type PluginsPath = Path<typeof evictionPluginsMachine>;

async function replayPlugins(path: PluginsPath, coverage: Coverage): Promise<void> {
  const replay = new PluginsReplay(path, coverage);
  const steps = async () => {
    await replay.prepare();
    for (const index of path.keys()) await replay.step(index);
    await replay.finish();
  };
  await replaying({ path, coverage, steps, end: () => replay.stop() });
}

type Question = 'evicts' | 'threshold';

/** A plugin whose first answers are given later. */
class AskedPlugin {
  readonly #plugin: FakePlugin;
  readonly #open = new Map<Question, PromiseWithResolvers<unknown>>();

  constructor(plugin: FakePlugin) {
    this.#plugin = plugin;
    for (const question of ['evicts', 'threshold'] as const)
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
    if (way === 'Hangs') return;
    if (way === 'Fails') {
      for (const question of ['evicts', 'threshold'] as const) this.#open.get(question)?.reject(failure);
      return;
    }
    this.#plugin.top = () => {
      if (way === 'MeetsAndFails') throw failure;
      return way === 'MeetsAndHangs' ? new Promise(() => undefined) : { targetPods: [pod] };
    };
    this.#open.get('evicts')?.resolve({ evictPods: way === 'Names' ? [wanted(pod)] : [] });
    this.#open.get('threshold')?.resolve(way.startsWith('Meets') ? metBy(this.#plugin.name) : NOT_MET);
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
    if (!isWaiting()) {
      await clock.advance(timeoutMs);
      await this.#bed.ground.until('the pass to end', isWaiting);
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
