/** What eviction plugins have answered in one round of questions, and which of the pods that they name is the least important. */
import type {
  GetEvictPodsAnswer,
  PluginCondition,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { goFloat } from '../formats/go-text.ts';
import { isEvictable, knownQosLevel, wantsNotice } from './qos-level.ts';
import { compareTexts } from '../formats/text-order.ts';

/** A pod that a plugin wants ended (`forceEvict`) or offers as one of several candidates, and why. */
export interface RuledPod extends Candidate {
  readonly plugin: string;
  readonly reason: string;
  readonly forceEvict: boolean;
  /** Undefined: the pod's own grace period. */
  readonly gracePeriodSeconds?: number;
}

/** What the met threshold says when pods are chosen for it. */
type ThresholdValues = Pick<ThresholdMetAnswer, 'scope' | 'thresholdValue' | 'observedValue'>;

/**
 * What all plugins have answered in one round. Of a plugin in dry run, pods to be ended and conditions do not count. The rules are
 * those of Katalyst's collector.
 */
export class CollectedAnswers {
  readonly #dryRun: readonly string[];
  readonly #soft = new Map<string, RuledPod>();
  readonly #force = new Map<string, RuledPod>();
  readonly #conditions = new Map<string, PluginCondition>();
  readonly #thresholds = new Map<string, ThresholdMetAnswer>();
  readonly #candidates = new Map<string, Pod>();

  /** `dryRun`: names of plugins, `*` for all, `-NAME` for all but one. */
  constructor(dryRun: readonly string[]) {
    this.#dryRun = dryRun;
  }

  /** The candidates, by UID. */
  get soft(): ReadonlyMap<string, RuledPod> {
    return this.#soft;
  }

  /** The pods that are to go, by UID. */
  get force(): ReadonlyMap<string, RuledPod> {
    return this.#force;
  }

  /** Those that are met, by name. */
  get conditions(): ReadonlyMap<string, PluginCondition> {
    return this.#conditions;
  }

  /** The thresholds that are met, by plugin. */
  get thresholds(): ReadonlyMap<string, ThresholdMetAnswer> {
    return this.#thresholds;
  }

  /** The pods that plugins with a met threshold would choose from, by UID. */
  get candidates(): ReadonlyMap<string, Pod> {
    return this.#candidates;
  }

  isDryRun(plugin: string): boolean {
    return isNamedIn(this.#dryRun, plugin);
  }

  evictPods(plugin: string, { evictPods, condition }: GetEvictPodsAnswer): void {
    if (this.isDryRun(plugin)) return;
    for (const { forceEvict, ...wanted } of evictPods) {
      const scope = forceEvict ? 'force' : 'soft';
      const target = forceEvict ? this.#force : this.#soft;
      target.set(wanted.pod.metadata.uid, { ...wanted, plugin, forceEvict, scope });
    }
    this.#addCondition(condition);
  }

  thresholdMet(plugin: string, answer: ThresholdMetAnswer): void {
    if (answer.metType === 'NOT_MET') return;
    this.#thresholds.set(plugin, answer);
    for (const pod of answer.candidatePods) this.#candidates.set(pod.metadata.uid, pod);
    if (!this.isDryRun(plugin)) this.#addCondition(answer.condition);
  }

  /** A pod that is to go already keeps the longer grace period, and both reasons. */
  topPods(plugin: string, values: ThresholdValues, answer: TopEvictionPodsAnswer): void {
    if (this.isDryRun(plugin)) return;
    const shared = this.#sharedGracePeriod(answer);
    for (const pod of answer.targetPods) {
      const former = this.#force.get(pod.metadata.uid);
      const gracePeriodSeconds = shared ?? former?.gracePeriodSeconds;
      const reason = thresholdReason(plugin, values) + (former ? `; ${former.reason}` : '');
      this.#force.set(pod.metadata.uid, {
        pod,
        plugin,
        reason,
        forceEvict: true,
        scope: values.scope,
        gracePeriodSeconds,
      });
    }
  }

  /**
   * Katalyst keeps the grace period of an answer for all its pods: one of them that has a longer one raises it for all. Where the answer has
   * none, each pod keeps its own.
   */
  #sharedGracePeriod({ targetPods, gracePeriodSeconds }: TopEvictionPodsAnswer): number | undefined {
    if (gracePeriodSeconds === undefined) return undefined;
    const former = targetPods.map((pod) => this.#force.get(pod.metadata.uid)?.gracePeriodSeconds);
    return longest([gracePeriodSeconds, ...former]);
  }

  /** Candidates for a threshold that is only soft. As with Katalyst, they have their own grace period, whatever the answer says. */
  topSoftPods(
    plugin: string,
    values: ThresholdValues,
    { targetPods }: Pick<TopEvictionPodsAnswer, 'targetPods'>,
  ): void {
    if (this.isDryRun(plugin)) return;
    for (const pod of targetPods) {
      this.#soft.set(pod.metadata.uid, {
        pod,
        plugin,
        reason: thresholdReason(plugin, values),
        forceEvict: false,
        scope: values.scope,
      });
    }
  }

  #addCondition(condition: PluginCondition | undefined): void {
    if (condition?.met === true) this.#conditions.set(condition.name, condition);
  }
}

function longest(seconds: readonly (number | undefined)[]): number | undefined {
  const known = seconds.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function thresholdReason(plugin: string, { scope, thresholdValue, observedValue }: ThresholdValues): string {
  const values = `target ${goFloat(thresholdValue)}, observed ${goFloat(observedValue)}`;
  return `plugin ${plugin} met threshold in scope ${scope}, ${values}`;
}

export interface Candidate {
  readonly pod: Pod;
  /** What it was chosen for: `force`, `memory`, `cpu` or another name. */
  readonly scope: string;
}

const SCOPES = ['force', 'memory', 'cpu'];

/**
 * The most important first. Pods that are not reclaimed come before reclaimed ones, then a higher priority before a lower one and before
 * none, then by scope, then by name, in descending order.
 */
export function inOrderOfImportance<T extends Candidate>(candidates: readonly T[]): readonly T[] {
  return [...candidates].sort(
    (a, b) =>
      reclaimed(a) - reclaimed(b) ||
      priority(b) - priority(a) ||
      scopeRank(a) - scopeRank(b) ||
      compareNames(b.pod, a.pod),
  );
}

/** The one that is to end. Pods that may not be ended, or that want a notice instead, are passed over. */
export function leastImportant<T extends Candidate>(candidates: readonly T[]): T | undefined {
  return inOrderOfImportance(candidates.filter(({ pod }) => isEvictable(pod) && !wantsNotice(pod))).at(-1);
}

function reclaimed({ pod }: Candidate): number {
  return knownQosLevel(pod) === 'reclaimed_cores' ? 1 : 0;
}

/** A pod without a priority counts below every pod that has one. */
function priority({ pod }: Candidate): number {
  return pod.spec.priority ?? Number.MIN_SAFE_INTEGER;
}

function scopeRank({ scope }: Candidate): number {
  const rank = SCOPES.indexOf(scope);
  return rank < 0 ? SCOPES.length : rank;
}

function compareNames(a: Pod, b: Pod): number {
  return compareTexts(a.metadata.name, b.metadata.name);
}

/**
 * Whether a list of names names this one: by itself, or by `*` for all. `-NAME` leaves one out of `*`. The first entry that is about
 * the name counts.
 */
export function isNamedIn(list: readonly string[], name: string): boolean {
  for (const entry of list) {
    if (entry === name) return true;
    if (entry === `-${name}`) return false;
  }
  return list.includes('*');
}
