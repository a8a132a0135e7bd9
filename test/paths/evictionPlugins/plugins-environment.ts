/** What eviction plugins can answer in each state of a pass, and what the rules make of it. */
import type { SnapshotFrom } from 'xstate';
import {
  type EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../../src/machines/eviction-plugins-machine.ts';
import type { PluginAnswers } from '../../../src/policies/eviction-plugins/plugin-pass.ts';
import { choosePods, type PluginChoice } from '../../../src/policies/eviction-plugins/pod-choice.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { lastingPod } from '../../actors/eviction/eviction-bed.ts';
import { met, NOT_MET, PLUGIN_SETTINGS, wanted } from '../../support/eviction-plugins.ts';
import type { Environment } from '../paths.ts';

export type PluginsState = SnapshotFrom<typeof evictionPluginsMachine>;

/** Each plugin names a pod of its own. */
export const PODS = { p: lastingPod('of-p'), q: lastingPod('of-q') } as const;
export type PluginName = keyof typeof PODS;

/** What a plugin can do when it is asked in `Collecting`, and for pods. To hang takes time, in which the others would hang too. */
export const WAYS = ['Quiet', 'Names', 'Meets', 'Fails', 'Hangs'] as const;
export const TOP_WAYS = ['Top', 'TopFails', 'TopHangs'] as const;
export type Way = (typeof WAYS)[number] | (typeof TOP_WAYS)[number];

const answersIn = (plugin: PluginName, way: Way): PluginAnswers => {
  if (way === 'Fails' || way === 'Hangs') return { plugin, refused: [] };
  const evictPods = { evictPods: way === 'Names' ? [wanted<Pod>(PODS[plugin])] : [] };
  return { plugin, evictPods, threshold: way === 'Meets' ? met() : NOT_MET, refused: [] };
};
const answered = (plugin: PluginName, way: Way): EvictionPluginsEvent => ({
  type: 'PLUGIN_ANSWERED',
  answers: answersIn(plugin, way),
  nowMs: 0,
});
const topAnswered = (plugin: PluginName, way: Way): EvictionPluginsEvent => ({
  type: 'TOP_PODS_ANSWERED',
  plugin,
  topPods: way === 'Top' ? { targetPods: [PODS[plugin]] } : undefined,
  refused: [],
});

export function choiceFor(answers: readonly PluginAnswers[]): PluginChoice {
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
    (['p', 'q'] as const).flatMap((plugin) => [
      ...WAYS.map((way) => [`${plugin}${way}`, answered(plugin, way)] as const),
      ...TOP_WAYS.map((way) => [`${plugin}${way}`, topAnswered(plugin, way)] as const),
    ]),
  ),
};

export function isOutcome(name: string): boolean {
  return name in OUTCOMES;
}

export const PLUGINS_ENVIRONMENT: Environment<typeof evictionPluginsMachine> = {
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
    return namesOf(awaited, isLast ? WAYS : WAYS.filter((way) => way !== 'Hangs'));
  if (state.matches({ Choosing: 'ForThresholds' }))
    return namesOf(awaited, isLast ? TOP_WAYS : TOP_WAYS.filter((way) => way !== 'TopHangs'));
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
export function essenceOf(event: EvictionPluginsEvent): object {
  const { type } = event;
  if (type === 'PASS_DUE') return { type, plugins: event.plugins };
  if (type === 'PLUGIN_ANSWERED') return { type, answers: shortly(event.answers) };
  if (type === 'TOP_PODS_ANSWERED')
    return {
      type,
      plugin: event.plugin,
      pods: event.topPods?.targetPods.map(({ metadata }) => metadata.name),
    };
  return type === 'CHOSEN' ? { type, ending: namesIn(event.choice) } : { type };
}

/** The compared part of a state. What was decided stands only while no pass is under way. */
export function factsOf({ value, context }: PluginsState): object {
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
