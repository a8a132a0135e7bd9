/** Asks a plugin, with a deadline, and checks its answers against what this node knows. */
import { StaggeredQueue } from '../../plugins/registration/registration-calls.ts';
import {
  type Checked,
  checkedEvictPods,
  checkedThreshold,
  checkedTopPods,
  type NodePods,
} from '../../policies/eviction-plugins/answer-checks.ts';
import { shownProblem } from '../../policies/eviction-plugins/plugin-registration.ts';
import { isHard, type PluginAnswers } from '../../policies/eviction-plugins/plugin-pass.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type {
  ActivePods,
  EvictionRecord,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { PluginCall } from '../../../types/measurements.ts';
import type { HostedPlugin } from './plugin-parts.ts';

/** `topN` of a hard threshold: one pod at a time. 0 is for a soft one: all candidates. */
const TOP_N_HARD = 1;
const TOP_N_SOFT = 0;
/** So many plugins are asked at once, over open connections. */
const AT_ONCE = 32;

/** An answer, or why there is none. */
interface Outcome<Answer> extends Checked<Answer> {
  readonly problem?: string;
}

/** Whether the plugin is asked for pods for its threshold. */
type IsConfirmed = (plugin: string, threshold: ThresholdMetAnswer) => boolean;

/** The questions of one pass. */
interface Asked {
  readonly hosted: HostedPlugin;
  readonly activePods: ActivePods;
  readonly signal: AbortSignal;
}

/** What is known of these candidates for a threshold. */
type RecordsOf = (pods: readonly Pod[]) => readonly EvictionRecord[];

export class PluginQuestions {
  readonly #context: AgentContext;
  readonly #node: NodePods;
  readonly #recordsOf: RecordsOf;
  readonly #timeoutMs: number;
  /** Of the questions under way. */
  readonly #limits = new Set<AbortController>();
  readonly #queue: StaggeredQueue;

  constructor(context: AgentContext, node: NodePods, timeoutMs: number, recordsOf: RecordsOf = () => []) {
    this.#recordsOf = recordsOf;
    this.#context = context;
    this.#node = node;
    this.#timeoutMs = timeoutMs;
    this.#queue = new StaggeredQueue(context.clock, AT_ONCE);
  }

  /**
   * Asks both questions at once, and the one for pods as soon as the plugin has a confirmed threshold. All have one deadline, so that a pass takes no
   * longer. Never rejects.
   */
  async ask(hosted: HostedPlugin, activePods: ActivePods, isConfirmed: IsConfirmed): Promise<PluginAnswers> {
    const { plugin } = hosted;
    const [evictPods, [threshold, topPods]] = await this.#within((signal) =>
      Promise.all([
        this.#outcome(hosted, 'GetEvictPods', signal, async () =>
          checkedEvictPods(await plugin.getEvictPods({ activePods, signal }), this.#node),
        ),
        this.#threshold({ hosted, activePods, signal }, isConfirmed),
      ]),
    );
    const outcomes = [evictPods, threshold, ...(topPods ? [topPods] : [])];
    this.#settle(hosted, outcomes);
    return {
      plugin: plugin.name,
      evictPods: evictPods.answer,
      threshold: threshold.answer,
      ...(topPods?.answer && { topPods: topPods.answer }),
      refused: outcomes.flatMap(({ refused }) => refused),
    };
  }

  async #threshold(
    asked: Asked,
    isConfirmed: IsConfirmed,
  ): Promise<readonly [Outcome<ThresholdMetAnswer>, Outcome<TopEvictionPodsAnswer>?]> {
    const { hosted, activePods, signal } = asked;
    const { plugin } = hosted;
    const threshold = await this.#outcome(hosted, 'ThresholdMet', signal, async () =>
      checkedThreshold(await plugin.thresholdMet({ activePods, signal }), this.#node),
    );
    const { answer } = threshold;
    if (answer === undefined || !isConfirmed(plugin.name, answer)) return [threshold];
    return [threshold, await this.#topPods(asked, answer)];
  }

  #topPods(
    { hosted, activePods, signal }: Asked,
    threshold: ThresholdMetAnswer,
  ): Promise<Outcome<TopEvictionPodsAnswer>> {
    const { scope, candidatePods } = threshold;
    const topN = isHard(threshold) ? TOP_N_HARD : TOP_N_SOFT;
    const shown = new Set(candidatePods.map(({ metadata }) => metadata.uid));
    const pods = activePods.pods.filter(({ metadata }) => shown.has(metadata.uid));
    const question = {
      candidateEvictionRecords: this.#recordsOf(pods),
      activePods: pods.length > 0 ? { pods } : activePods,
      topN,
      evictionScope: scope,
    };
    return this.#outcome(hosted, 'GetTopEvictionPods', signal, async () =>
      checkedTopPods(await hosted.plugin.getTopEvictionPods({ ...question, signal }), topN, this.#node),
    );
  }

  /** Aborts all questions. */
  stop(): void {
    for (const limit of this.#limits) limit.abort(new StateletError('Canceled', 'the agent stops'));
  }

  /** The deadline begins when the plugin is asked. */
  async #within<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const { signal } = limit;
    this.#limits.add(limit);
    try {
      return await this.#queue.run(() => this.#limited(ask, limit), signal);
    } catch (error) {
      // The agent has stopped before the plugin's turn: each question fails with that reason.
      if (signal.aborted) return await ask(signal);
      throw error;
    } finally {
      this.#limits.delete(limit);
    }
  }

  async #limited<T>(ask: (signal: AbortSignal) => Promise<T>, limit: AbortController): Promise<T> {
    const { clock } = this.#context;
    const timeoutMs = this.#timeoutMs;
    const problem = `has not answered within ${timeoutMs / 1000} s`;
    const timer = clock.setTimeout(
      () => limit.abort(new StateletError('DeadlineExceeded', problem)),
      timeoutMs,
    );
    try {
      return await ask(limit.signal);
    } finally {
      clock.clearTimeout(timer);
    }
  }

  async #outcome<Answer>(
    { plugin }: HostedPlugin,
    call: PluginCall,
    signal: AbortSignal,
    ask: () => Promise<Checked<Answer>>,
  ): Promise<Outcome<Answer>> {
    const { measurements } = this.#context;
    try {
      signal.throwIfAborted();
      const checked = await Promise.race([ask(), aborted(signal)]);
      const isRefused = checked.answer === undefined || checked.refused.length > 0;
      measurements?.plugins.answered(plugin.name, call, isRefused ? 'refused' : 'success');
      return checked;
    } catch (error) {
      // An aborted plugin may itself reject first, with an error of its own.
      const problem = shownProblem(errorMessage(signal.aborted ? signal.reason : error));
      measurements?.plugins.answered(plugin.name, call, 'failure');
      return { answer: undefined, refused: [], problem: `${call}: ${problem}` };
    }
  }

  /** A plugin of whose answers none can be used counts as failed. */
  #settle({ answered, failed }: HostedPlugin, outcomes: readonly Outcome<unknown>[]): void {
    const problems = outcomes.flatMap(({ answer, problem, refused }) =>
      answer === undefined ? (problem ?? refused) : [],
    );
    if (problems.length === 0) answered();
    else failed([...new Set(problems)].join('; '));
  }
}

/** Rejects when the signal aborts. */
async function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(asError(signal.reason));
  signal.addEventListener('abort', () => reject(asError(signal.reason)), { once: true });
  return promise;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(errorMessage(reason));
}
