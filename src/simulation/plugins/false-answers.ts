/** Answers of simulated plugins that must be refused: pods that they must not name, values without sense, other forms. */
import { isMirrorPod } from '../../agent/policies/pod/pod-kinds.ts';
import type {
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../types/eviction-plugin.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { honestEvictPods, honestThreshold, honestTopPods, named, type Occasion } from './honest-answers.ts';
import { pick } from './plugins-plan.ts';

/** Pods that a plugin can name although it is not shown them. */
export interface KnownPods {
  /** All pods that are wanted on the node, and the mirror pods. */
  readonly all: readonly Pod[];
  /** Pods that it was shown before. */
  readonly formerPods: readonly Pod[];
}

type FalseOccasion = Occasion & KnownPods;

const FALSE_GRACES = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60];
const FALSE_CONDITIONS: readonly PluginCondition[] = [
  { name: 'bad/name', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true },
  { name: '-', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true },
  { name: '', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true },
  { name: 'Odd', type: 'CNR_CONDITION', effects: ['Sometimes'], met: true },
];
const OTHER_FORMS: readonly unknown[] = [
  undefined,
  null,
  {},
  42,
  'yes',
  [],
  { evictPods: null },
  { evictPods: [null] },
  { evictPods: 'all', metType: 'HARD_MET', targetPods: 'all' },
  { evictPods: [{}], metType: 'HARD_MET', scope: 'memory', targetPods: [null] },
];

export function otherForm(value: number): unknown {
  return pick(OTHER_FORMS, value);
}

/** The honest answer, with pods among it that must be refused. */
export function falseEvictPods(occasion: FalseOccasion): GetEvictPodsAnswer<NamedPod> {
  const honest = honestEvictPods(occasion);
  const grace = pick(FALSE_GRACES, occasion.random(`${keyOf(occasion)}/grace`));
  const false_ = falseNames(occasion).map((pod, index): EvictPod<NamedPod> => ({
    pod,
    reason: 'it is said to be in the way',
    forceEvict: index % 2 === 0,
    ...(index % 3 === 2 && { gracePeriodSeconds: grace }),
  }));
  // A pod that is named a second time, with other details.
  const twice = honest.evictPods.slice(0, 1).map((one) => ({ ...one, forceEvict: !one.forceEvict }));
  const condition = drawnFalse(occasion, FALSE_CONDITIONS, 'condition') ?? honest.condition;
  return { evictPods: [...false_, ...honest.evictPods, ...twice], condition };
}

export function falseThreshold(occasion: FalseOccasion): ThresholdMetAnswer<NamedPod> {
  const honest = honestThreshold(occasion);
  const met = { ...honest, metType: 'HARD_MET', scope: 'memory' } as const;
  const condition = drawnFalse(occasion, FALSE_CONDITIONS, 'condition');
  const lies: readonly ThresholdMetAnswer<NamedPod>[] = [
    { ...met, scope: '' },
    { ...met, observedValue: Number.NaN },
    { ...met, gracePeriodSeconds: -1 },
    { ...met, candidatePods: falseNames(occasion) },
    { ...met, ...(condition && { condition }) },
    honest,
  ];
  return pick(lies, occasion.random(`${keyOf(occasion)}/threshold`));
}

export function falseTopPods(occasion: FalseOccasion): TopEvictionPodsAnswer<NamedPod> {
  const honest = honestTopPods(occasion);
  const names = falseNames(occasion);
  const grace = pick(FALSE_GRACES, occasion.random(`${keyOf(occasion)}/grace`));
  const lies: readonly TopEvictionPodsAnswer<NamedPod>[] = [
    { targetPods: [...honest.targetPods, ...occasion.pods.map((pod) => named(pod, occasion))] },
    { targetPods: names.slice(0, 1) },
    { targetPods: [...names.slice(0, 1), ...honest.targetPods] },
    { ...honest, gracePeriodSeconds: grace },
  ];
  return pick(lies, occasion.random(`${keyOf(occasion)}/top`));
}

/** About half of the ways in which no answer should name a pod, in random order. */
function falseNames(occasion: FalseOccasion): readonly NamedPod[] {
  const { random } = occasion;
  const key = keyOf(occasion);
  const kinds: readonly NamedPod[] = [
    ...some(occasion, occasion.all).map((pod) => ({ ...named(pod, occasion), nodeName: 'another-node' })),
    ...some(occasion, occasion.all).map((pod) => ({ ...named(pod, occasion), uid: 'uid-unknown' })),
    ...some(occasion, occasion.all).map((pod) => ({ ...named(pod, occasion), uid: '' })),
    ...some(occasion, occasion.all).map((pod) => ({ ...named(pod, occasion), name: 'another-name' })),
    ...some(occasion, occasion.all).map((pod) => ({ ...named(pod, occasion), namespace: 'kube-system' })),
    ...occasion.formerPods.slice(-3).map((pod) => named(pod, occasion)),
    ...occasion.all.filter(isMirrorPod).map((pod) => named(pod, occasion)),
    ...occasion.all.filter(isMirrorPod).map((pod) => ({ ...named(pod, occasion), nodeName: '' })),
    ...occasion.all.map((pod) => named(pod, occasion)),
  ];
  const chosen = kinds.filter((_, index) => random(`${key}/lie/${String(index)}`) < 0.4);
  const rank = ({ uid }: NamedPod) => random(`${key}/order/${uid}`);
  return [...chosen].sort((a, b) => rank(a) - rank(b));
}

/** One of them. */
function some(occasion: FalseOccasion, pods: readonly Pod[]): readonly Pod[] {
  return pods.length === 0 ? [] : [pick(pods, occasion.random(`${keyOf(occasion)}/some`))];
}

function drawnFalse<T>(occasion: FalseOccasion, items: readonly T[], what: string): T | undefined {
  const value = occasion.random(`${keyOf(occasion)}/${what}`);
  return value < 0.5 ? pick(items, 2 * value) : undefined;
}

function keyOf({ plugin, ordinal }: Occasion): string {
  return `plugins/${plugin}/lies/${String(ordinal)}`;
}
