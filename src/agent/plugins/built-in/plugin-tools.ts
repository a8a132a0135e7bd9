/** What built-in plugins have in common. Each is a policy, and the few lines that read figures for it. */
import type {
  Asked,
  AskedForPods,
  Candidates,
  ChosenPods,
  JudgedThreshold,
} from '../../policies/eviction-plugins/built-in/built-in-policy.ts';
import type { BuiltInSettings } from '../../../types/built-in-thresholds.ts';
import type { Clock } from '../../../types/clock.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../../types/eviction-plugin.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { Logger } from '../../../types/logger.ts';
import type { FiguresOfPasses, QuestionFigures } from './pass-figures.ts';

type Step<A, Outcome, Kept> = (
  asked: A,
  figures: QuestionFigures,
  kept: Kept,
) => Promise<Outcome | Unanswered | undefined>;

/**
 * A step reads what its policy needs and calls it. Undefined: there is nothing to be judged. After that, and where a plugin cannot judge, it
 * begins anew. A question without a step has the answer that nothing is to be done.
 */
export interface BuiltIn<Kept> {
  readonly atFirst: Kept;
  readonly threshold?: Step<Asked, JudgedThreshold<Kept>, Kept>;
  readonly top?: Step<AskedForPods, ChosenPods<Kept>, Kept>;
  readonly candidates?: Step<Asked, Candidates<Kept>, Kept>;
}

type BuiltInQuestion = 'threshold' | 'top' | 'candidates';

/** Why a plugin has no answer. */
export class Unanswered {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

export interface PluginTools {
  /** As they are now. */
  readonly settings: () => BuiltInSettings;
  readonly figures: FiguresOfPasses;
  readonly clock: Pick<Clock, 'now'>;
  readonly unanswered: UnansweredLog;
}

/** Logs why a plugin cannot answer: each reason once, and again only after the plugin could answer. */
export class UnansweredLog {
  readonly #logger: Logger;
  readonly #reasons = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(plugin: string, question: BuiltInQuestion, reason: string): void {
    const key = `${plugin} ${question}`;
    if (reason !== this.#reasons.get(key)) this.#logger.info({ plugin }, `${plugin}: ${reason}`);
    this.#reasons.set(key, reason);
  }

  /** To be called when the plugin could answer: the next reason is logged again. */
  answered(plugin: string, question: BuiltInQuestion): void {
    this.#reasons.delete(`${plugin} ${question}`);
  }
}

export interface BuiltInParts<Kept> {
  readonly name: string;
  readonly isEnabled: (settings: BuiltInSettings) => boolean;
  readonly load: () => Promise<BuiltIn<Kept>>;
}

/**
 * Answers the manager's questions by a policy, which is loaded once it is enabled. Where figures cannot be read, nothing is to be done: no
 * pod is ended then. A question whose signal aborted rejects.
 */
export class BuiltInPlugin<Kept> implements EvictionPlugin {
  readonly name: string;
  readonly #parts: BuiltInParts<Kept>;
  readonly #tools: PluginTools;
  #loaded: Promise<BuiltIn<Kept>> | undefined;
  /** Undefined: it begins anew. */
  #kept: { readonly value: Kept } | undefined;

  constructor(parts: BuiltInParts<Kept>, tools: PluginTools) {
    this.name = parts.name;
    this.#parts = parts;
    this.#tools = tools;
  }

  get isEnabled(): boolean {
    return this.#parts.isEnabled(this.#tools.settings());
  }

  async thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    const judged = await this.#ask(
      'threshold',
      question,
      this.#asked(question),
      ({ threshold }) => threshold,
    );
    return { ...NOT_MET, ...judged?.met };
  }

  async getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const { topN, evictionScope: scope } = question;
    const asked = { ...this.#asked(question), topN, scope };
    const chosen = await this.#ask('top', question, asked, ({ top }) => top);
    if (chosen === undefined || chosen.pods.length === 0) return NO_PODS;
    const { pods, gracePeriodSeconds } = chosen;
    return { targetPods: pods.map(named), gracePeriodSeconds };
  }

  async getEvictPods(question: PluginQuestion): Promise<GetEvictPodsAnswer<NamedPod>> {
    const found = await this.#ask(
      'candidates',
      question,
      this.#asked(question),
      ({ candidates }) => candidates,
    );
    const evictPods = (found?.evictPods ?? []).map((one) => ({ ...one, pod: named(one.pod) }));
    return { evictPods, ...(found?.condition && { condition: found.condition }) };
  }

  #asked({ activePods: { pods } }: PluginQuestion): Asked {
    return { pods, settings: this.#tools.settings(), nowMs: this.#tools.clock.now() };
  }

  async #ask<A extends Asked, Outcome extends { readonly kept: Kept }>(
    what: BuiltInQuestion,
    question: PluginQuestion,
    asked: A,
    stepOf: (builtIn: BuiltIn<Kept>) => Step<A, Outcome, Kept> | undefined,
  ): Promise<Outcome | undefined> {
    const { figures, unanswered } = this.#tools;
    if (!this.#parts.isEnabled(asked.settings)) {
      this.#kept = undefined;
      return undefined;
    }
    try {
      const loaded = await (this.#loaded ??= this.#parts.load());
      const step = stepOf(loaded);
      if (step === undefined) return undefined;
      const outcome = await step(asked, figures.of(question), this.#kept?.value ?? loaded.atFirst);
      const isAnswer = outcome !== undefined && !(outcome instanceof Unanswered);
      if (isAnswer || what !== 'top') this.#kept = isAnswer ? { value: outcome.kept } : undefined;
      if (outcome instanceof Unanswered) unanswered.tell(this.name, what, outcome.why);
      else unanswered.answered(this.name, what);
      return isAnswer ? outcome : undefined;
    } catch (error) {
      if (question.signal.aborted) throw error;
      unanswered.tell(this.name, what, `its figures cannot be read: ${errorMessage(error)}`);
      return undefined;
    }
  }
}

export const NOT_MET: ThresholdMetAnswer<NamedPod> = {
  metType: 'NOT_MET',
  scope: '',
  thresholdValue: 0,
  observedValue: 0,
  gracePeriodSeconds: 0,
  candidatePods: [],
};

export const NO_PODS: TopEvictionPodsAnswer<NamedPod> = { targetPods: [] };

function named({ metadata: { namespace, name, uid }, spec: { nodeName = '' } }: Pod): NamedPod {
  return { namespace, name, uid, nodeName };
}
