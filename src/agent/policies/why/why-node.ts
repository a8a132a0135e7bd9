/** What the node does and what it lacks, in a few sentences. */
import { figure } from '../eviction/explanation-tables.ts';
import type { Eviction, EvictionState, VictimChoice } from '../eviction/pass.ts';
import { figureText } from '../eviction/pressure-settings.ts';
import { isPressureSignal, type PressureCondition, pressureCondition } from '../eviction/signals.ts';
import { isHardThreshold, thresholdQuantity } from '../eviction/thresholds.ts';
import { atTime, type Choice } from './end-cause.ts';
import { stateSentence } from './state-sentences.ts';
import type { Why } from './why-pod.ts';

export interface NodeWhyFacts {
  readonly name: string;
  /** Why it is not ready, in the words of the Ready condition. */
  readonly problems: readonly string[];
  /** Pressure conditions that hold. */
  readonly conditions: readonly string[];
  /** Undefined where no pod is evicted on this node. */
  readonly pressure?: PressureFacts | undefined;
  /** The states of the supervisor's chart: `Runtime.Ready`. */
  readonly states: readonly string[];
  /** Pods that have not ended, and those of them that wait or are ending, by name. */
  readonly pods: number;
  readonly waiting: readonly string[];
  readonly ending: readonly string[];
  readonly nowMs: number;
}

export interface NodeWhy extends Why {
  /** Only under pressure. */
  readonly pressure?: WhyPressure;
}

/** At most so many waiting and ending pods are named. */
const NAMED_MAX = 5;

export function whyNode(facts: NodeWhyFacts): NodeWhy {
  const { name, problems, conditions, states, nowMs } = facts;
  const short = conditions.length === 0 ? undefined : facts.pressure;
  const isReady = problems.length === 0;
  const what = isReady ? 'is ready' : `is not ready: ${problems.join('; ')}`;
  const notable = states.filter((state) => !RESTING.has(state));
  const open = notable.map((state) => stateSentence('supervisor', state) ?? state);
  const pressure = [
    ...(conditions.length === 0 ? [] : [`It is under pressure: ${conditions.join(', ')}`]),
    ...(short === undefined ? [] : pressureTexts(conditions, short, nowMs)),
  ];
  return {
    subject: `node ${name}`,
    state: isReady ? 'Ready' : 'NotReady',
    ...(short && { pressure: whyPressure(short) }),
    sentences: [
      `Node ${name} ${what}`,
      ...open.map((text) => text.slice(0, 1).toUpperCase() + text.slice(1)),
      ...pressure,
      podsText(facts),
    ].map((text) => `${text}.`),
  };
}

/** States that need no word. */
const RESTING: ReadonlySet<string> = new Set(['Sources.Ready', 'Runtime.Ready', 'Loop.Running']);

function podsText({ pods, waiting, ending }: NodeWhyFacts): string {
  const parts = [
    ...(waiting.length === 0 ? [] : [`${waiting.length} of them waiting (${named(waiting)})`]),
    ...(ending.length === 0 ? [] : [`${ending.length} ending (${named(ending)})`]),
  ];
  const count = pods === 1 ? '1 pod is here' : `${pods} pods are here`;
  return parts.length === 0 ? count : `${count}, ${parts.join(', ')}`;
}

function named(names: readonly string[]): string {
  const rest = names.length - NAMED_MAX;
  return names.slice(0, NAMED_MAX).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

export interface PressureFacts {
  readonly state: EvictionState;
  /** The latest ranking. */
  readonly choice: VictimChoice | undefined;
  /** The pods that were evicted last. */
  readonly evictions: readonly Eviction[];
}

interface WhyPressure {
  readonly thresholds: readonly WhyThreshold[];
  /** `namespace/name`. */
  readonly lastEvicted: readonly string[];
  /** By the latest ranking, whatever has changed since. */
  readonly next: readonly string[];
}

export interface WhyThreshold {
  readonly signal: string;
  readonly isHard: boolean;
  /** With the sign of the comparison: `<100Mi`, `>20%`. */
  readonly threshold: string;
  readonly observed: string;
  /** RFC 3339. */
  readonly since: string;
}

/** At most so many evicted pods are named. */
const NAMED_PODS_MAX = 3;

export function whyPressure({ state, choice, evictions }: PressureFacts): WhyPressure {
  const thresholds = state.firstObserved.flatMap(({ threshold, sinceMs }) => {
    const observation = state.observations.get(threshold.signal);
    if (observation === undefined) return [];
    const { signal, value } = threshold;
    const wanted = figureText(signal, thresholdQuantity(value, observation.capacity));
    return {
      signal,
      isHard: isHardThreshold(threshold),
      threshold: `${isPressureSignal(signal) ? '>' : '<'}${wanted}`,
      observed: figureText(signal, observation.available),
      since: new Date(sinceMs).toISOString(),
    };
  });
  const gone = new Set(evictions.map(({ pod }) => pod.uid));
  const next = (choice?.ranking.candidates ?? []).filter(
    ({ uid, isCritical }) => !isCritical && !gone.has(uid),
  );
  return { thresholds, lastEvicted: evictions.map(({ pod }) => nameOf(pod)), next: next.map(nameOf) };
}

/** Sentences without their full stops. `conditions`: those that hold. */
function pressureTexts(
  conditions: readonly string[],
  facts: PressureFacts,
  nowMs: number,
): readonly string[] {
  const { thresholds, lastEvicted, next } = whyPressure(facts);
  const met = thresholds.map(
    ({ signal, observed, threshold, isHard, since }) =>
      `${comparison(signal, observed, threshold)} (${isHard ? 'hard' : 'soft'}) since ${atTime(Date.parse(since), nowMs)}`,
  );
  const isMet = new Set(thresholds.map(({ signal }) => pressureCondition(signal)));
  const lingering = conditions.filter((condition) => !isMet.has(condition as PressureCondition));
  const was = lingering.flatMap((condition) => {
    const lastMs = facts.state.conditionsLastObserved.get(condition as PressureCondition);
    return lastMs === undefined
      ? []
      : `${condition} holds for a while: its threshold was met until ${atTime(lastMs, nowMs)}`;
  });
  return [
    ...(met.length === 0 ? [] : [`What is short: ${met.join('; ')}`]),
    ...was,
    ...(lastEvicted.length === 0 ? [] : [`Evicted last: ${lastEvicted.slice(0, NAMED_PODS_MAX).join(', ')}`]),
    ...(next.length === 0 ? [] : [`Next by the latest ranking: ${next.slice(0, NAMED_PODS_MAX).join(', ')}`]),
  ];
}

/** `memory.available 18.6Gi < 20.4Gi`; exact where the short figures would be the same. */
function comparison(signal: string, observed: string, threshold: string): string {
  const short = [figure(signal, observed), figure(signal, threshold.slice(1))];
  const [left, limit] = short[0] === short[1] ? [observed, threshold.slice(1)] : short;
  return `${signal} ${left} ${threshold.slice(0, 1)} ${limit}`;
}

/** Undefined for a pod that is not one of those that were evicted last. */
export function evictionChoice({ evictions, choice }: PressureFacts, uid: string): Choice | undefined {
  const own = evictions.find(({ pod }) => pod.uid === uid);
  if (own === undefined) return undefined;
  const isRanked = choice?.eviction?.pod.uid === uid;
  return { how: own.why, order: isRanked ? choice.ranking.candidates.map(nameOf) : [] };
}

function nameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
