/** Checks of what plugins answer: the pods that they name are looked up by UID among those of this node, and invalid values are refused. */
import type {
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';
import { shortLine } from '../formats/terminal-text.ts';
import { isMirrorPod, isStaticPod } from '../pod/pod-kinds.ts';
import { CNR_EFFECT_LEVEL, CONDITION_EFFECTS, conditionTaintKey } from './taints-of-conditions.ts';

/** A pod of this node, with what decides whether plugins may name it. */
export interface KnownPod {
  readonly pod: Pod;
  readonly isEnding: boolean;
  /** Its annotations or labels keep it from plugins. */
  readonly isSkipped: boolean;
}

export interface NodePods {
  readonly nodeName: string;
  /** By the UID under which this node, or the API server, knows the pod. */
  readonly find: (uid: string) => KnownPod | undefined;
}

export interface Checked<Answer> {
  /** Undefined where none of it can be used. */
  readonly answer: Answer | undefined;
  /** What was not accepted, as sentences. */
  readonly refused: readonly string[];
}

/** A plugin can name as many pods as fit into a message. More refusals than this are only counted. */
const REFUSALS_MAX = 10;
/** The longest reason of a plugin, in characters: statuses, events, logs and terminals show it. */
const REASON_MAX = 800;
const NAME_MAX = 253;

export function checkedEvictPods(
  { evictPods, condition }: GetEvictPodsAnswer<NamedPod>,
  node: NodePods,
): Checked<GetEvictPodsAnswer> {
  const refusals = new Refusals();
  const accepted = evictPods.flatMap((wanted): readonly EvictPod[] => {
    const pod = refusals.found(wanted.pod, endable(wanted.pod, node));
    if (pod === undefined) return [];
    const { reason, forceEvict, gracePeriodSeconds } = wanted;
    if (!isGracePeriod(gracePeriodSeconds)) {
      refusals.add(`pod ${text(wanted.pod)}: ${graceProblem(gracePeriodSeconds)}`);
      return [];
    }
    return [{ pod, reason: shortLine(reason, REASON_MAX), forceEvict, gracePeriodSeconds }];
  });
  const known = refusals.accepted(condition);
  return refusals.checked({ evictPods: accepted, condition: known });
}

/** The values of a threshold that is not met say nothing, and are not checked. */
export function checkedThreshold(
  answer: ThresholdMetAnswer<NamedPod>,
  node: NodePods,
): Checked<ThresholdMetAnswer> {
  const refusals = new Refusals();
  const condition = refusals.accepted(answer.condition);
  const { metType, scope, thresholdValue, observedValue, gracePeriodSeconds, candidatePods } = answer;
  const problem = metType === 'NOT_MET' ? undefined : thresholdProblem(answer);
  if (problem !== undefined) {
    refusals.add(`its threshold: ${problem}`);
    return refusals.nothing();
  }
  // Candidates may include pods that are never evicted: nothing is done to candidates.
  const candidates = candidatePods.flatMap((named) => refusals.found(named, known(named, node)) ?? []);
  return refusals.checked({
    metType,
    scope,
    thresholdValue,
    observedValue,
    gracePeriodSeconds,
    candidatePods: candidates,
    condition,
  });
}

/** `topN`: how many pods are asked for; 0 for all that the plugin would have among the candidates. */
export function checkedTopPods(
  { targetPods, gracePeriodSeconds }: TopEvictionPodsAnswer<NamedPod>,
  topN: number,
  node: NodePods,
): Checked<TopEvictionPodsAnswer> {
  const refusals = new Refusals();
  if (!isGracePeriod(gracePeriodSeconds)) {
    refusals.add(`its pods for the threshold: ${graceProblem(gracePeriodSeconds)}`);
    return refusals.nothing();
  }
  if (topN > 0 && targetPods.length > topN)
    refusals.add(`it names ${targetPods.length} pods where ${topN} is asked for: only the first counts`);
  const first = topN > 0 ? targetPods.slice(0, topN) : targetPods;
  const accepted = first.flatMap((named) => refusals.found(named, endable(named, node)) ?? []);
  return refusals.checked({
    targetPods: accepted,
    gracePeriodSeconds,
  });
}

/** A pod, or why it is refused. */
type Found = Pod | string;

class Refusals {
  /** Each sentence once. */
  readonly #refused = new Set<string>();

  add(sentence: string): void {
    this.#refused.add(sentence);
  }

  found(named: NamedPod, found: Found): Pod | undefined {
    if (typeof found !== 'string') return found;
    const { namespace, name, uid } = named;
    const isNone = namespace === '' && name === '' && uid === '';
    this.add(isNone ? 'an entry without a pod' : `pod ${text(named)} ${found}`);
    return undefined;
  }

  /** Undefined for a condition that is not met, and for one that is refused. */
  accepted(condition: PluginCondition | undefined): PluginCondition | undefined {
    if (condition?.met !== true) return undefined;
    const problem = conditionProblem(condition);
    if (problem === undefined) return { ...condition, effects: [...new Set(condition.effects)] };
    this.add(`condition ${quoted(condition.name)}: ${problem}`);
    return undefined;
  }

  checked<Answer>(answer: Answer): Checked<Answer> {
    return { answer, refused: this.#sentences() };
  }

  nothing(): Checked<never> {
    return { answer: undefined, refused: this.#sentences() };
  }

  #sentences(): readonly string[] {
    const all = [...this.#refused];
    const more = all.length - REFUSALS_MAX;
    // Sorted, so that an answer in another order is refused with the same sentences.
    return more > 0 ? [...all.sort().slice(0, REFUSALS_MAX), `and ${more} more`] : all;
  }
}

function known(named: NamedPod, { nodeName, find }: NodePods): Found {
  if (named.nodeName !== '' && named.nodeName !== nodeName) return `is one of node ${shown(named.nodeName)}`;
  const found = find(named.uid);
  if (found === undefined) return 'is not on this node';
  const { name, namespace } = found.pod.metadata;
  if (name !== named.name || namespace !== named.namespace)
    return `has another name here: ${namespace}/${name}`;
  return found.isSkipped
    ? 'was not shown to plugins: its annotations or labels keep it from them'
    : found.pod;
}

function endable(named: NamedPod, node: NodePods): Found {
  const pod = known(named, node);
  if (typeof pod === 'string') return pod;
  if (isMirrorPod(pod) || isStaticPod(pod)) return 'is a static pod: it is never ended for a plugin';
  return node.find(named.uid)?.isEnding === true ? 'is ending already' : pod;
}

function text({ namespace, name, uid }: NamedPod): string {
  return `${shown(namespace)}/${shown(name)} (UID ${shown(uid) || 'missing'})`;
}

function shown(name: string): string {
  return shortLine(name, NAME_MAX);
}

function quoted(name: string): string {
  return `"${shown(name)}"`;
}

function isGracePeriod(seconds: number | undefined): boolean {
  return seconds === undefined || (Number.isSafeInteger(seconds) && seconds >= 0);
}

/** Infinity is one: a ratio to nothing. */
function isNumber(value: unknown): boolean {
  return typeof value === 'number' && !Number.isNaN(value);
}

function graceProblem(seconds: number | undefined): string {
  return `a grace period is a whole number of seconds, 0 or more (got ${seconds ?? 'none'})`;
}

function thresholdProblem(answer: ThresholdMetAnswer<NamedPod>): string | undefined {
  const { scope, thresholdValue, observedValue, gracePeriodSeconds } = answer;
  if (typeof scope !== 'string' || scope === '') return 'it names no scope';
  // It is sent back to the plugin as it is.
  if (shown(scope) !== scope) return `its scope cannot be shown, or has more than ${NAME_MAX} characters`;
  if (!isNumber(thresholdValue) || !isNumber(observedValue)) return 'a value is not a number';
  return isGracePeriod(gracePeriodSeconds) ? undefined : graceProblem(gracePeriodSeconds);
}

function conditionProblem({ name, type, effects }: PluginCondition): string | undefined {
  if (name.includes('/') || qualifiedNameProblems(conditionTaintKey(name)).length > 0)
    return 'it cannot be the name of a taint';
  const of = type === 'CNR_CONDITION' ? CNR_EFFECT_LEVEL : '';
  const bare = (effect: string) => (effect.startsWith(of) ? effect.slice(of.length) : effect);
  const unknown = effects.find((effect) => !CONDITION_EFFECTS.includes(bare(effect)));
  return unknown === undefined ? undefined : `${quoted(unknown)} is none of ${CONDITION_EFFECTS.join(', ')}`;
}
