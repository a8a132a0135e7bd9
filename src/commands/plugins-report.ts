/** The answers of eviction plugins and the decisions about them, as text of `statelet explain-eviction`. */
import type {
  ExplainedPlugin,
  ExplainedPluginCandidate,
  ExplainedPluginCondition,
  ExplainedPluginThreshold,
  PluginsExplanation,
  PodKillView,
  PodVerdict,
  WantedPod,
} from '../agent/policies/eviction-plugins/plugins-explanation.ts';
import { humanDuration } from '../agent/policies/formats/duration.ts';
import { oneLine } from '../agent/policies/formats/terminal-text.ts';
import { formatTable } from './table.ts';

const VERDICTS: Readonly<Record<PodVerdict, string>> = {
  Goes: 'goes',
  Queued: 'waits for its turn',
  BeingEnded: 'is being ended',
  Stays: 'stays',
  Notified: 'is told',
};

/** Sections, each of which ends with a line break. */
export function pluginSections(explanation: PluginsExplanation, nowMs: number): readonly string[] {
  const { plugins, decidedMs, conditions, candidates, ended, queue, kills } = explanation;
  const ago = (ms: number) => humanDuration(nowMs - ms);
  return [
    heading(explanation, ago),
    ...(plugins.length > 0
      ? [formatTable([PLUGINS, ...plugins.map((plugin) => pluginRow(plugin, ago))])]
      : []),
    ...settingLines(explanation),
    ...answers(
      plugins.filter(({ isEnabled }) => isEnabled !== false),
      ago,
    ),
    ...section(
      'Pods that plugins have named, and what the rules make of it:',
      CANDIDATES,
      candidates.map(candidateRow),
    ),
    ...(ended && ended.decidedMs !== decidedMs
      ? section(
          `The latest pass by which pods ended, ${ago(ended.decidedMs)} ago:`,
          CANDIDATES,
          ended.candidates.map(candidateRow),
        )
      : []),
    ...section(
      'Conditions:',
      CONDITIONS,
      conditions.map((condition) => conditionRow(condition, ago)),
    ),
    ...(queue.length > 0 ? [`Waiting for their turn: ${oneLine(queue.join(', '))}\n`] : []),
    ...section(
      'Pods that are being ended:',
      KILLS,
      kills.map((kill) => killRow(kill, ago)),
    ),
  ];
}

type Ago = (ms: number) => string;

const PLUGINS = ['PLUGIN', 'STATE', 'FOR', 'FROM', ''];
const CANDIDATES = ['POD', 'VERDICT', 'PLUGIN', 'SCOPE', 'GRACE', 'REASON', 'WHY'];
const CONDITIONS = ['CONDITION', 'EFFECTS', 'LAST SEEN', 'COUNTS'];
const KILLS = ['POD', 'PLUGIN', 'BY', 'STATE', 'FOR', 'PROBLEM'];

function heading({ plugins, decidedMs, state, awaited }: PluginsExplanation, ago: Ago): string {
  if (plugins.length === 0) return 'Eviction plugins: none has registered\n';
  const latest = decidedMs === undefined ? 'there was no pass yet' : `latest pass ${ago(decidedMs)} ago`;
  const waits = awaited.length > 0 ? `, waits for ${awaited.join(', ')}` : '';
  return `${oneLine(`Eviction plugins: ${plugins.length}, ${latest}, now ${state}${waits}`)}\n`;
}

/** Settings that differ from the default, and why a change is not followed. */
function settingLines({ settings = [], settingsProblem }: PluginsExplanation): readonly string[] {
  const set = settings.filter(({ from }) => from !== 'the default');
  const texts = set.map(({ name, value, from }) => `${name} is ${value || 'empty'} (${from})`);
  return [
    ...(texts.length > 0 ? [`Settings that can change: ${texts.join('; ')}`] : []),
    ...(settingsProblem === undefined ? [] : [`Changed settings are not followed: ${settingsProblem}`]),
  ].map((line) => `${oneLine(line)}\n`);
}

function pluginRow(
  { name, state, sinceMs, origin, problem, isDryRun, isEnabled }: ExplainedPlugin,
  ago: Ago,
): string[] {
  const notes = [
    ...(isEnabled === false ? ['not enabled by its settings'] : []),
    ...(isDryRun ? ['dry run: its answers are only counted'] : []),
    ...(problem ? [problem] : []),
  ];
  return [name, state, ago(sinceMs), origin, notes.join('; ')];
}

/** A line for each answer that says something, and one for the plugins that have nothing to say. */
function answers(plugins: readonly ExplainedPlugin[], ago: Ago): readonly string[] {
  const silent = plugins.filter(({ evictPods, threshold, refused }) => {
    const wantsNone = evictPods?.length === 0 && threshold?.metType === 'NOT_MET';
    return wantsNone && refused.length === 0;
  });
  const lines = plugins
    .filter((plugin) => !silent.includes(plugin))
    .flatMap((plugin) => answersOf(plugin, ago));
  if (silent.length > 0) lines.push(`no pod is to go: ${silent.map(({ name }) => name).join(', ')}`);
  if (lines.length === 0) return [];
  return [
    `What plugins have answered in the latest pass:\n${lines.map((line) => `  ${oneLine(line)}\n`).join('')}`,
  ];
}

function answersOf({ name, evictPods, threshold, topPods, refused }: ExplainedPlugin, ago: Ago): string[] {
  // If a plugin has named pods, it does not matter that its threshold is not met.
  const hasNamed = evictPods !== undefined && evictPods.length > 0;
  const shown = hasNamed && threshold?.metType === 'NOT_MET' ? undefined : threshold;
  return [
    ...(evictPods ? [`${name}: to go: ${podsText(evictPods)}`] : []),
    ...(shown ? [`${name}: ${thresholdText(shown, ago)}`] : []),
    ...(topPods
      ? [
          `${name}: ${threshold?.metType === 'SOFT_MET' ? 'candidates' : 'to go'} for its threshold: ${podsText(topPods)}`,
        ]
      : []),
    ...refused.map((sentence) => `${name}: refused: ${sentence}`),
  ];
}

function podsText(pods: readonly WantedPod[]): string {
  return (
    pods.map(({ pod, forceEvict }) => (forceEvict ? `${pod} (in any case)` : pod)).join(', ') || 'no pod'
  );
}

function thresholdText(threshold: ExplainedPluginThreshold, ago: Ago): string {
  const { metType, scope, thresholdValue, observedValue, gracePeriodSeconds } = threshold;
  if (metType === 'NOT_MET') return 'its threshold is not met';
  const { firstObservedMs, isConfirmed } = threshold;
  const kind = metType === 'HARD_MET' ? 'hard' : 'soft';
  const since = firstObservedMs === undefined ? '' : ` for ${ago(firstObservedMs)}`;
  const values = `target ${thresholdValue}, observed ${observedValue}`;
  const counts = isConfirmed ? 'counts' : `counts after ${gracePeriodSeconds} s`;
  return `its ${kind} threshold of ${scope || 'no scope'} is met${since} (${values}), ${counts}`;
}

function candidateRow(candidate: ExplainedPluginCandidate): string[] {
  const { pod, verdict, plugin, scope, gracePeriodSeconds, reason, why } = candidate;
  const grace = gracePeriodSeconds === undefined ? 'its own' : `${gracePeriodSeconds} s`;
  return [pod, VERDICTS[verdict], plugin, scope, grace, reason, why];
}

function conditionRow(
  { name, effects, lastObservedMs, stands }: ExplainedPluginCondition,
  ago: Ago,
): string[] {
  return [name, effects.join(',') || 'none', `${ago(lastObservedMs)} ago`, stands ? 'yes' : 'no'];
}

function killRow({ pod, plugin, killer, state, sinceMs, problem }: PodKillView, ago: Ago): string[] {
  return [pod, plugin, killer, state, ago(sinceMs), problem ?? ''];
}

function section(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return rows.length === 0 ? [] : [`${title}\n${formatTable([head, ...rows])}`];
}
