/** What simulated plugins answer that must not be believed: pods that they must not name, values without sense, other forms. */
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

/** What a liar knows beside the pods that it is shown. */
export interface Hearsay {
  /** All pods that are wanted on the node, and the mirror pods. */
  readonly all: readonly Pod[];
  /** Pods that it was shown before. */
  readonly formerPods: readonly Pod[];
}

type Liar = Occasion & Hearsay;

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

/** The honest answer with lies among it. */
export function falseEvictPods(liar: Liar): GetEvictPodsAnswer<NamedPod> {
  const honest = honestEvictPods(liar);
  const grace = pick(FALSE_GRACES, liar.random(`${keyOf(liar)}/grace`));
  const false_ = falseNames(liar).map((pod, index): EvictPod<NamedPod> => ({
    pod,
    reason: 'it is said to be in the way',
    forceEvict: index % 2 === 0,
    ...(index % 3 === 2 && { gracePeriodSeconds: grace }),
  }));
  // Named a second time, otherwise than at first.
  const twice = honest.evictPods.slice(0, 1).map((one) => ({ ...one, forceEvict: !one.forceEvict }));
  const condition = drawnFalse(liar, FALSE_CONDITIONS, 'condition') ?? honest.condition;
  return { evictPods: [...false_, ...honest.evictPods, ...twice], ...(condition && { condition }) };
}

export function falseThreshold(liar: Liar): ThresholdMetAnswer<NamedPod> {
  const honest = honestThreshold(liar);
  const met = { ...honest, metType: 'HARD_MET', scope: 'memory' } as const;
  const condition = drawnFalse(liar, FALSE_CONDITIONS, 'condition');
  const lies: readonly ThresholdMetAnswer<NamedPod>[] = [
    { ...met, scope: '' },
    { ...met, observedValue: Number.NaN },
    { ...met, gracePeriodSeconds: -1 },
    { ...met, candidatePods: falseNames(liar) },
    { ...met, ...(condition && { condition }) },
    honest,
  ];
  return pick(lies, liar.random(`${keyOf(liar)}/threshold`));
}

export function falseTopPods(liar: Liar): TopEvictionPodsAnswer<NamedPod> {
  const honest = honestTopPods(liar);
  const names = falseNames(liar);
  const grace = pick(FALSE_GRACES, liar.random(`${keyOf(liar)}/grace`));
  const lies: readonly TopEvictionPodsAnswer<NamedPod>[] = [
    { targetPods: [...honest.targetPods, ...liar.pods.map((pod) => named(pod, liar))] },
    { targetPods: names.slice(0, 1) },
    { targetPods: [...names.slice(0, 1), ...honest.targetPods] },
    { ...honest, gracePeriodSeconds: grace },
  ];
  return pick(lies, liar.random(`${keyOf(liar)}/top`));
}

/** Pods as no answer should name them, about half of the kinds that there are; in an order by chance. */
function falseNames(liar: Liar): readonly NamedPod[] {
  const { random } = liar;
  const key = keyOf(liar);
  const kinds: readonly NamedPod[] = [
    ...some(liar, liar.all).map((pod) => ({ ...named(pod, liar), nodeName: 'another-node' })),
    ...some(liar, liar.all).map((pod) => ({ ...named(pod, liar), uid: 'uid-unknown' })),
    ...some(liar, liar.all).map((pod) => ({ ...named(pod, liar), uid: '' })),
    ...some(liar, liar.all).map((pod) => ({ ...named(pod, liar), name: 'another-name' })),
    ...some(liar, liar.all).map((pod) => ({ ...named(pod, liar), namespace: 'kube-system' })),
    ...liar.formerPods.slice(-3).map((pod) => named(pod, liar)),
    ...liar.all.filter(isMirrorPod).map((pod) => named(pod, liar)),
    ...liar.all.filter(isMirrorPod).map((pod) => ({ ...named(pod, liar), nodeName: '' })),
    ...liar.all.map((pod) => named(pod, liar)),
  ];
  const chosen = kinds.filter((_, index) => random(`${key}/lie/${String(index)}`) < 0.4);
  const rank = ({ uid }: NamedPod) => random(`${key}/order/${uid}`);
  return [...chosen].sort((a, b) => rank(a) - rank(b));
}

/** One of them. */
function some(liar: Liar, pods: readonly Pod[]): readonly Pod[] {
  return pods.length === 0 ? [] : [pick(pods, liar.random(`${keyOf(liar)}/some`))];
}

function drawnFalse<T>(liar: Liar, items: readonly T[], what: string): T | undefined {
  const value = liar.random(`${keyOf(liar)}/${what}`);
  return value < 0.5 ? pick(items, 2 * value) : undefined;
}

function keyOf({ plugin, ordinal }: Occasion): string {
  return `plugins/${plugin}/lies/${String(ordinal)}`;
}
