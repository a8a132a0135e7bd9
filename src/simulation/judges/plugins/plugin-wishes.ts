/** Which pods plugins have validly named in a pass: judged by their answers as they gave them, and by the pods as they really are. */
import type {
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { SKIPPED_ANNOTATION, SKIPPED_LABEL } from '../../plugins/plugins-plan.ts';
import type { AskedCall } from '../../plugins/simulated-plugin.ts';
import { isEndingOrEnded, isNeverEvicted, type PodRecord } from '../pod-records.ts';

/** One question to a plugin. */
export interface AskedQuestion {
  readonly plugin: string;
  readonly call: AskedCall;
  readonly atMs: number;
  /** How many pods it is asked for; undefined for other calls. */
  readonly topN: number | undefined;
  /** The same for all questions of a pass. */
  readonly deadlineMs: number;
  /** Undefined until it has answered. */
  reply: PluginReply | undefined;
}

export interface PluginReply {
  readonly atMs: number;
  /** Undefined: it has failed, or its answer has another form. */
  readonly answer: unknown;
  /** UIDs of the pods that could be ended at that moment. */
  readonly endable: ReadonlySet<string>;
}

/** A pod that plugins want to go. */
export interface Wish {
  readonly record: PodRecord;
  readonly pod: Pod;
  /** Names of the plugins that named it. */
  readonly plugins: Set<string>;
  /** Why it was named: a threshold's scope, or `soft`. Of several, the agent keeps one. */
  readonly scopes: Set<string>;
  /** One of them wants it gone in any case. */
  isForced: boolean;
  /** It could be ended when it was named, too. */
  isCertain: boolean;
}

export interface WishFacts {
  readonly nodeName: string;
  readonly get: (uid: string) => PodRecord | undefined;
  /** The plugins whose thresholds are confirmed. */
  readonly confirmed: ReadonlyMap<string, ConfirmedThreshold>;
}

export interface ConfirmedThreshold {
  /** How many pods the plugin is asked for: 1 for a hard threshold, 0 for the candidates of a soft one. */
  readonly topN: number;
  readonly scope: string;
}

const QOS_LEVEL = 'katalyst.kubewharf.io/qos_level';
const SOFT_EVICT_NOTIFY = 'katalyst.kubewharf.io/pod_soft_evict_notify';

/** By UID: the wishes of these plugins that count. */
export function wishesOf(asked: readonly AskedQuestion[], facts: WishFacts): ReadonlyMap<string, Wish> {
  const wishes = new Map<string, Wish>();
  const add = (question: AskedQuestion, { pod, gracePeriodSeconds, forceEvict, scope }: Named) => {
    const record = facts.get(pod.uid);
    if (record?.pod === undefined || !isEndable(record) || !isGrace(gracePeriodSeconds)) return;
    if (!isNamedRightly(pod, record.pod, facts.nodeName)) return;
    const wish = wishes.get(pod.uid) ?? newWish(record, record.pod);
    wish.plugins.add(question.plugin);
    if (!forceEvict) wish.scopes.add(scope);
    wish.isForced ||= forceEvict;
    wish.isCertain ||= question.reply?.endable.has(pod.uid) === true;
    wishes.set(pod.uid, wish);
  };
  for (const question of asked) for (const named of namedIn(question, facts)) add(question, named);
  return wishes;
}

type Named = Pick<EvictPod<NamedPod>, 'pod' | 'gracePeriodSeconds' | 'forceEvict'> & {
  readonly scope: string;
};

function namedIn(question: AskedQuestion, facts: WishFacts): readonly Named[] {
  const { plugin, call } = question;
  const answer = answerInTime(question);
  if (answer === undefined) return [];
  if (call === 'GetEvictPods')
    return (answer as GetEvictPodsAnswer<NamedPod>).evictPods.map((one) => ({ ...one, scope: 'soft' }));
  const threshold = facts.confirmed.get(plugin);
  if (call !== 'GetTopEvictionPods' || threshold === undefined) return [];
  const { targetPods, gracePeriodSeconds } = answer as TopEvictionPodsAnswer<NamedPod>;
  // For a hard threshold one pod is asked for: no other counts.
  const { topN, scope } = threshold;
  const counted = topN > 0 ? targetPods.slice(0, topN) : targetPods;
  return counted.map((pod) => ({ pod, forceEvict: topN > 0, gracePeriodSeconds, scope }));
}

export function answerInTime({ deadlineMs, reply }: AskedQuestion): unknown {
  return reply !== undefined && reply.atMs < deadlineMs ? reply.answer : undefined;
}

/** The threshold that a plugin reports as met, if its values make sense. */
export function metThreshold(question: AskedQuestion): ThresholdMetAnswer<NamedPod> | undefined {
  if (question.call !== 'ThresholdMet') return undefined;
  const answer = answerInTime(question) as ThresholdMetAnswer<NamedPod> | undefined;
  return answer === undefined || answer.metType === 'NOT_MET' || !makesSense(answer) ? undefined : answer;
}

/** The condition of an answer that counts. */
export function metCondition(question: AskedQuestion): PluginCondition | undefined {
  const answer = answerInTime(question) as Partial<ThresholdMetAnswer<NamedPod>> | undefined;
  if (question.call === 'GetTopEvictionPods' || answer?.condition?.met !== true) return undefined;
  const { metType } = answer;
  // A threshold that is not met says nothing of the node, and one whose values make no sense is refused as a whole.
  if (question.call === 'ThresholdMet' && (metType === 'NOT_MET' || !makesSense(answer))) return undefined;
  const { name, effects } = answer.condition;
  const isKnown = effects.every((effect) => /^(?:NoSchedule|PreferNoSchedule|NoExecute)$/.test(effect));
  return isKnown && /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name) ? answer.condition : undefined;
}

/** Whether the first of two candidates must go before the second, for whatever reason each was named. */
export function isLessImportant({ pod: one, scopes }: Wish, { pod: other, scopes: others }: Wish): boolean {
  const ranks = (pod: Pod) => [level(pod) === 'reclaimed_cores' ? 0 : 1, pod.spec.priority ?? -Infinity];
  const [mine, theirs] = [ranks(one), ranks(other)];
  for (const [index, rank] of mine.entries()) {
    const against = theirs[index] ?? 0;
    if (rank !== against) return rank < against;
  }
  const [lowest, highest] = [Math.min(...scopeRanks(scopes)), Math.max(...scopeRanks(others))];
  return lowest === highest ? one.metadata.name < other.metadata.name : lowest > highest;
}

/** The higher, the less important. */
function scopeRanks(scopes: ReadonlySet<string>): readonly number[] {
  return [...scopes].map((scope) => ({ force: 0, memory: 1, cpu: 2 })[scope] ?? 3);
}

export function wantsNotice({ metadata: { annotations } }: Pod): boolean {
  return annotations?.[SOFT_EVICT_NOTIFY] === 'True';
}

/** Why no plugin may end the pod, whatever it says. */
export function whyNever(record: PodRecord): string | undefined {
  if (record.pod === undefined) return 'is not known';
  if (isNeverEvicted(record)) return 'is static or critical';
  if (level(record.pod) === 'system_cores') return 'is of the system';
  return isSkipped(record.pod) ? 'was to be shown to no plugin' : undefined;
}

/** Whether plugins are to see the pod. */
export function isShown(record: PodRecord): boolean {
  return record.pod !== undefined && !isEndingOrEnded(record) && !isSkipped(record.pod);
}

export function isEndable(record: PodRecord): boolean {
  return whyNever(record) === undefined && !isEndingOrEnded(record);
}

function isSkipped({ metadata: { annotations, labels } }: Pod): boolean {
  return annotations?.[SKIPPED_ANNOTATION] !== undefined || labels?.[SKIPPED_LABEL] !== undefined;
}

function level({ metadata: { annotations } }: Pod): string | undefined {
  return annotations?.[QOS_LEVEL];
}

function isNamedRightly(named: NamedPod, { metadata }: Pod, nodeName: string): boolean {
  const isHere = named.nodeName === '' || named.nodeName === nodeName;
  return isHere && named.name === metadata.name && named.namespace === metadata.namespace;
}

function makesSense({
  scope,
  thresholdValue,
  observedValue,
  gracePeriodSeconds,
}: Partial<ThresholdMetAnswer<NamedPod>>) {
  const areNumbers = !Number.isNaN(thresholdValue) && !Number.isNaN(observedValue);
  return scope !== '' && areNumbers && isGrace(gracePeriodSeconds);
}

function isGrace(seconds: number | undefined): boolean {
  return seconds === undefined || (Number.isSafeInteger(seconds) && seconds >= 0);
}

function newWish(record: PodRecord, pod: Pod): Wish {
  return { record, pod, plugins: new Set(), scopes: new Set(), isForced: false, isCertain: false };
}
