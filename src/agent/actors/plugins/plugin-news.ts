/** The log lines, events and figures of a pass over eviction plugins, each once while it lasts. */
import type { DecidedPass, EvictionPluginsContext } from '../../machines/eviction-plugins-machine.ts';
import { isNamedIn, type RuledPod } from '../../policies/eviction-plugins/collected-answers.ts';
import {
  conditionsOf,
  confirmedThresholds,
  NOTHING_OBSERVED,
  type PluginAnswers,
  type PluginObservations,
} from '../../policies/eviction-plugins/plugin-pass.ts';
import {
  conditionNews,
  EVICTION_NOTIFIED,
  noticeMessage,
  shownReason,
  thresholdText,
} from '../../policies/eviction-plugins/pod-kill.ts';
import { knownQosLevel } from '../../policies/eviction-plugins/qos-level.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { PluginVictim, RequestedCondition } from '../../../types/measurements.ts';
import { podFields } from '../../../types/logger.ts';

export class PluginNews {
  readonly #context: AgentContext;
  #observations: PluginObservations = NOTHING_OBSERVED;
  /** The plugins with confirmed thresholds. */
  #confirmed: ReadonlySet<string> = new Set();
  readonly #refusals = new Lasting();
  readonly #notices = new Lasting();
  readonly #trials = new Lasting();

  constructor(context: AgentContext) {
    this.#context = context;
  }

  observed({ observations, nowMs }: EvictionPluginsContext): void {
    const { logger } = this.#context;
    const news = conditionNews(conditionsOf(this.#observations), conditionsOf(observations));
    for (const line of news) logger.info({}, `Eviction plugins: ${line}`);
    const confirmed = confirmedThresholds(observations.thresholds, nowMs);
    for (const [plugin, threshold] of confirmed)
      if (!this.#confirmed.has(plugin))
        logger.warn({ plugin }, `Eviction plugins: ${thresholdText(plugin, threshold)}`);
    this.#confirmed = new Set(confirmed.keys());
    this.#observations = observations;
  }

  decided(pass: DecidedPass | undefined, dryRun: readonly string[]): void {
    if (pass === undefined) return;
    const { answers, choice } = pass;
    this.#context.measurements?.plugins.decided(
      choice.ending.map(victimOf),
      requestedConditions(answers, dryRun),
    );
    this.#logRefused(answers);
    for (const ruled of this.#notices.new(choice.notified, ({ pod }) => pod.metadata.uid))
      this.#context.recorder.event(ruled.pod.metadata, 'Normal', EVICTION_NOTIFIED, noticeMessage(ruled));
    const named = ({ plugin, pod }: RuledPod) => `${plugin} ${pod.metadata.uid}`;
    for (const ruled of this.#trials.new(choice.dryRun, named)) this.#logTrial(ruled);
  }

  #logRefused(answers: readonly PluginAnswers[]): void {
    const { logger } = this.#context;
    const all = answers.flatMap(({ plugin, refused }) => refused.map((sentence) => ({ plugin, sentence })));
    const named = ({ plugin, sentence }: (typeof all)[number]) =>
      `${plugin} ${sentence.replace(/^and \d+ more$/u, 'and more')}`;
    // Where a plugin has not answered, for example because it was late, an earlier refusal still lasts.
    const silent = answers.filter(
      ({ evictPods, threshold }) => evictPods === undefined || threshold === undefined,
    );
    const lasts = (key: string) => silent.some(({ plugin }) => key.startsWith(`${plugin} `));
    for (const { plugin, sentence } of this.#refusals.new(all, named, lasts))
      logger.warn({ plugin }, `Eviction plugins: an answer of ${plugin} is refused: ${sentence}`);
  }

  #logTrial({ pod, plugin, reason }: RuledPod): void {
    const { logger, measurements } = this.#context;
    measurements?.plugins.victim(plugin, true);
    logger.info(
      { ...podFields(pod.metadata), plugin },
      `Eviction plugins: dry run: ${plugin} would have ${pod.metadata.name} ended: ${shownReason(reason)}`,
    );
  }
}

function victimOf({ plugin, pod }: RuledPod): PluginVictim {
  const { namespace, name } = pod.metadata;
  const priority = pod.spec.priority === undefined ? 'empty' : String(pod.spec.priority);
  return { plugin, namespace, name, qos: knownQosLevel(pod) ?? 'unknown', priority };
}

function requestedConditions(
  answers: readonly PluginAnswers[],
  dryRun: readonly string[],
): readonly RequestedCondition[] {
  return answers.flatMap(({ plugin, threshold }) => {
    if (threshold?.condition === undefined || threshold.metType === 'NOT_MET') return [];
    const { name, type, effects } = threshold.condition;
    const labels = { condition_name: name, condition_type: type, effects: effects.join('_') };
    return [{ ...labels, name: plugin, dryrun: String(isNamedIn(dryRun, plugin)) }];
  });
}

/** Finds the things that were not there before. */
class Lasting {
  #before: ReadonlySet<string> = new Set();

  /** Returns each new thing once. `lasts`: things that last although `now` does not have them. */
  new<T>(
    now: readonly T[],
    keyOf: (one: T) => string,
    lasts: (key: string) => boolean = () => false,
  ): readonly T[] {
    const before = this.#before;
    const keyed = new Map(now.map((one) => [keyOf(one), one]));
    this.#before = new Set([...[...before].filter(lasts), ...keyed.keys()]);
    return [...keyed].flatMap(([key, one]) => (before.has(key) ? [] : [one]));
  }
}
