/** What the functions of a plugin answer, as the messages of the protocol. What cannot be sent is a TypeError that says what is wrong. */
import type {
  Condition,
  DeletionOptions,
  EvictPodMessage,
  GetEvictPodsResponse,
  GetTopEvictionPodsResponse,
  ThresholdMetResponse,
} from '../agent/plugins/protocol/eviction-plugin-messages.ts';
import type { ConditionType, ThresholdMetType, ThresholdOperator } from '../types/eviction-plugin.ts';
import type { Pod } from '../types/kubernetes.ts';
import type {
  EvictPod,
  EvictPodsAnswer,
  PluginCondition,
  PodReference,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from './plugin-api.ts';

const MET_TYPES: readonly ThresholdMetType[] = ['NOT_MET', 'SOFT_MET', 'HARD_MET'];
const OPERATORS: readonly ThresholdOperator[] = ['GREATER_THAN', 'LESS_THAN'];
const CONDITION_TYPES: readonly ConditionType[] = ['NODE_CONDITION', 'CNR_CONDITION'];

type Unchecked<T> = Partial<Readonly<Record<keyof T, unknown>>>;

export function sentEvictPods(
  answer: EvictPodsAnswer | undefined,
  asked: readonly Pod[],
): GetEvictPodsResponse<Pod> {
  const { evictPods, condition } = object<EvictPodsAnswer>(answer ?? {}, 'the answer');
  return {
    evictPods: array(evictPods, 'evictPods').map((wanted, i) => evictPod(wanted, `evictPods[${i}]`, asked)),
    ...conditionOf(condition),
  };
}

function evictPod(wanted: unknown, at: string, asked: readonly Pod[]): EvictPodMessage<Pod> {
  const { pod, reason, forceEvict = false, gracePeriodSeconds } = object<EvictPod>(wanted, at);
  return {
    pod: podOf(pod, `${at}.pod`, asked),
    reason: text(reason, `${at}.reason`),
    forceEvict: flag(forceEvict, `${at}.forceEvict`),
    // As Katalyst's own plugins: the agent knows the name by the registration.
    evictionPluginName: '',
    ...graceOf(gracePeriodSeconds, at),
  };
}

export function sentThresholdMet(
  answer: ThresholdMetAnswer | undefined,
  asked: readonly Pod[],
): ThresholdMetResponse<Pod> {
  const given = object<ThresholdMetAnswer>(answer ?? { metType: 'NOT_MET' }, 'the answer');
  const metType = oneOf(MET_TYPES, given.metType, 'metType');
  const evictionScope = text(given.scope ?? '', 'scope');
  if (metType !== 'NOT_MET' && evictionScope === '')
    throw new TypeError('scope has to be given where the threshold is met: agents refuse it without one');
  return {
    metType,
    evictionScope,
    thresholdValue: number(given.thresholdValue ?? 0, 'thresholdValue'),
    observedValue: number(given.observedValue ?? 0, 'observedValue'),
    thresholdOperator: oneOf(OPERATORS, given.operator ?? 'GREATER_THAN', 'operator'),
    gracePeriodSeconds: seconds(given.gracePeriodSeconds ?? 0, 'gracePeriodSeconds'),
    candidatePods: podsOf(given.candidatePods, 'candidatePods', asked),
    ...conditionOf(given.condition),
  };
}

export function sentTopPods(
  answer: TopEvictionPodsAnswer | undefined,
  asked: readonly Pod[],
): GetTopEvictionPodsResponse<Pod> {
  const { targetPods, gracePeriodSeconds } = object<TopEvictionPodsAnswer>(answer ?? {}, 'the answer');
  return {
    targetPods: podsOf(targetPods, 'targetPods', asked),
    ...graceOf(gracePeriodSeconds, 'the answer'),
  };
}

function podsOf(given: unknown, at: string, asked: readonly Pod[]): readonly Pod[] {
  return array(given, at).map((pod, i) => podOf(pod, `${at}[${i}]`, asked));
}

/** The whole pod as it was asked about: Katalyst's own agent reads annotations of the pods in answers. */
function podOf(given: unknown, at: string, asked: readonly Pod[]): Pod {
  const { metadata } = object<PodReference>(given, at);
  const { uid, name, namespace } = object<PodReference['metadata']>(metadata, `${at}.metadata`);
  return (
    asked.find((pod) => pod.metadata.uid === uid) ?? {
      metadata: {
        uid: text(uid, `${at}.metadata.uid`),
        name: text(name, `${at}.metadata.name`),
        namespace: text(namespace, `${at}.metadata.namespace`),
      },
      spec: { containers: [] },
    }
  );
}

function conditionOf(given: unknown): { readonly condition?: Condition } {
  if (given === undefined) return {};
  const { name, type = 'NODE_CONDITION', effects, met } = object<PluginCondition>(given, 'condition');
  return {
    condition: {
      conditionName: text(name, 'condition.name'),
      conditionType: oneOf(CONDITION_TYPES, type, 'condition.type'),
      effects: array(effects, 'condition.effects').map((effect, i) =>
        text(effect, `condition.effects[${i}]`),
      ),
      metCondition: flag(met, 'condition.met'),
    },
  };
}

function graceOf(given: unknown, at: string): { readonly deletionOptions?: DeletionOptions } {
  if (given === undefined) return {};
  return { deletionOptions: { gracePeriodSeconds: seconds(given, `${at}.gracePeriodSeconds`) } };
}

function object<T>(value: unknown, at: string): Unchecked<T> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw wrong(value, at, 'an object');
}

function array(value: unknown, at: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw wrong(value, at, 'an array');
}

function text(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw wrong(value, at, 'a string');
}

function flag(value: unknown, at: string): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong(value, at, 'true or false');
}

function number(value: unknown, at: string): number {
  if (typeof value === 'number') return value;
  throw wrong(value, at, 'a number');
}

function seconds(value: unknown, at: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw wrong(value, at, 'a whole number of seconds, 0 or more');
}

function oneOf<T extends string>(names: readonly T[], value: unknown, at: string): T {
  const found = names.find((name) => name === value);
  if (found !== undefined) return found;
  throw wrong(value, at, `one of ${names.join(', ')}`);
}

function wrong(value: unknown, at: string, wanted: string): TypeError {
  const shown = typeof value === 'string' ? JSON.stringify(value) : typeOf(value);
  return new TypeError(`${at} has to be ${wanted}, and is ${shown}`);
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'number') return String(value);
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
