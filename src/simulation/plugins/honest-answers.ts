/** The correct answers of simulated plugins: about the pods that they are shown, with wishes that change every minute. */
import { NO_PODS, NOT_MET } from '../../agent/plugins/built-in/plugin-tools.ts';
import type {
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  ThresholdMetAnswer,
  ThresholdMetType,
  TopEvictionPodsAnswer,
} from '../../types/eviction-plugin.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { pick } from './plugins-plan.ts';

/** A question, with the values by which its answer is drawn. */
export interface Occasion {
  readonly plugin: string;
  readonly now: number;
  /** Counts the questions of its kind. */
  readonly ordinal: number;
  readonly pods: readonly Pod[];
  /** How many pods are asked for; 0 for candidates. */
  readonly topN?: number;
  readonly nodeName: string;
  readonly random: KeyedRandom;
}

const PHASE_MS = 60_000;
const GRACES = [undefined, undefined, 0, 1, 5, 30];
const THRESHOLD_GRACES = [0, 0, 3, 20, 60];
/** `flaps`: met at every other question. */
const THRESHOLDS = ['NOT_MET', 'NOT_MET', 'SOFT_MET', 'HARD_MET', 'HARD_MET', 'flaps'] as const;
const SCOPES = ['memory', 'cpu', 'numa', 'force'];
/** Some names are those of several plugins. */
const CONDITIONS = ['MemoryHungry', 'MemoryHungry', 'NumaFull', 'Busy_CPU.0'];
const EFFECTS = [['NoSchedule'], ['PreferNoSchedule', 'NoExecute'], ['NoSchedule', 'NoSchedule'], []];
const WANTED = 0.6;

/** An answer that wants no pod to end, and reports no condition. */
export const QUIET = {
  evictPods: (): GetEvictPodsAnswer<NamedPod> => ({ evictPods: [] }),
  thresholdMet: (): ThresholdMetAnswer<NamedPod> => NOT_MET,
  topPods: () => NO_PODS,
};

export function honestEvictPods(occasion: Occasion): GetEvictPodsAnswer<NamedPod> {
  const { pods, random } = occasion;
  const phase = phaseOf(occasion);
  const hunger = random(`${phase}/hunger`);
  const wanted = hunger < 0.4 ? [] : pods.filter((pod) => random(`${phase}/${uidOf(pod)}`) < WANTED);
  const condition = drawnCondition(occasion, `${phase}/pods`);
  return {
    evictPods: wanted.map((pod): EvictPod<NamedPod> => {
      const key = `${phase}/${uidOf(pod)}`;
      const gracePeriodSeconds = pick(GRACES, random(`${key}/grace`));
      return {
        pod: named(pod, occasion),
        reason: `it is in the way of ${occasion.plugin}`,
        forceEvict: hunger > 0.7 && random(`${key}/force`) < 0.4,
        gracePeriodSeconds,
      };
    }),
    condition,
  };
}

export function honestThreshold(occasion: Occasion): ThresholdMetAnswer<NamedPod> {
  const { pods, random, ordinal } = occasion;
  const phase = `${phaseOf(occasion)}/threshold`;
  const drawn = pick(THRESHOLDS, random(phase));
  const metType: ThresholdMetType = drawn === 'flaps' ? (ordinal % 2 ? 'HARD_MET' : 'NOT_MET') : drawn;
  if (metType === 'NOT_MET') return NOT_MET;
  const condition = drawnCondition(occasion, phase);
  const isChoosy = random(`${phase}/choosy`) < 0.3;
  return {
    metType,
    scope: pick(SCOPES, random(`${phase}/scope`)),
    thresholdValue: 0.5,
    observedValue: 1 + ordinal,
    gracePeriodSeconds: pick(THRESHOLD_GRACES, random(`${phase}/grace`)),
    candidatePods: isChoosy ? pods.slice(0, 2).map((pod) => named(pod, occasion)) : [],
    condition,
  };
}

/** The pod that comes first by chance; where candidates are asked for, half of them. */
export function honestTopPods(occasion: Occasion): TopEvictionPodsAnswer<NamedPod> {
  const { pods, random, topN } = occasion;
  const rank = (pod: Pod) => random(`${phaseOf(occasion)}/top/${uidOf(pod)}`);
  const inOrder = [...pods].sort((a, b) => rank(a) - rank(b));
  const top = topN === 0 ? inOrder.filter((pod) => rank(pod) < 0.5) : inOrder.slice(0, 1);
  const gracePeriodSeconds = pick(GRACES, random(`${phaseOf(occasion)}/top`));
  return {
    targetPods: top.map((pod) => named(pod, occasion)),
    gracePeriodSeconds,
  };
}

/** Half of the answers do not say to which node the pod is bound. */
export function named(
  { metadata: { namespace, name, uid } }: Pod,
  { random, nodeName }: Pick<Occasion, 'random' | 'nodeName'>,
): NamedPod {
  return { namespace, name, uid, nodeName: random(`plugins/named/${uid}`) < 0.5 ? '' : nodeName };
}

function drawnCondition({ random }: Occasion, key: string): PluginCondition | undefined {
  const value = random(`${key}/condition`);
  if (value < 0.5) return undefined;
  return {
    name: pick(CONDITIONS, random(`${key}/condition/name`)),
    type: random(`${key}/condition/type`) < 0.7 ? 'NODE_CONDITION' : 'CNR_CONDITION',
    effects: pick(EFFECTS, random(`${key}/condition/effects`)),
    met: value < 0.9,
  };
}

/** What a plugin wants changes from phase to phase. */
function phaseOf({ plugin, now }: Occasion): string {
  return `plugins/${plugin}/phase/${String(Math.floor(now / PHASE_MS))}`;
}

const uidOf = ({ metadata }: Pod): string => metadata.uid;
