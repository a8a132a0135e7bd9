/** Which of the pods that plugins have named are to end now, and why the others stay. */
import type { Pod } from '../../../types/kubernetes.ts';
import { isCriticalPod, isMirrorPod, isStaticPod } from '../pod/pod-kinds.ts';
import {
  type CollectedAnswers,
  inOrderOfImportance,
  leastImportant,
  type RuledPod,
} from './collected-answers.ts';
import { collect, type PassSettings, type PluginAnswers } from './plugin-pass.ts';
import type { PodVerdict } from './plugins-explanation.ts';
import { isEvictable, knownQosLevel, wantsNotice } from './qos-level.ts';

/** The decision about one pod. */
export interface RuledCandidate {
  readonly ruled: RuledPod;
  readonly verdict: PodVerdict;
  /** A sentence. */
  readonly why: string;
}

export interface PluginChoice {
  /** First the pods that go in any case, in the order in which they were named; then the candidates, the most important first. */
  readonly candidates: readonly RuledCandidate[];
  /** The pods that are to end now. */
  readonly ending: readonly RuledPod[];
  /** The pods that wait until there is room in a burst. */
  readonly queued: readonly RuledPod[];
  /** Pods that are being ended for plugins already. A shorter grace period counts for them. */
  readonly underWay: readonly RuledPod[];
  /** Candidates that ask for a notice instead of being chosen, whatever else happens to them. */
  readonly notified: readonly RuledPod[];
  /** What plugins in dry run have named. These pods are not ended for them. */
  readonly dryRun: readonly RuledPod[];
}

export interface ChoiceFacts {
  readonly answers: readonly PluginAnswers[];
  readonly settings: Pick<PassSettings, 'dryRun' | 'evictionBurst'>;
  /** UIDs of pods that are being ended for plugins, and have not ended yet. */
  readonly isUnderWay: (uid: string) => boolean;
  /** Whether the pod has ended or begun to end since it was named, whatever the reason. */
  readonly isEnding: (uid: string) => boolean;
}

export function choosePods({ answers, settings, isUnderWay, isEnding }: ChoiceFacts): PluginChoice {
  const keeps = (pod: Pod) => keptBecause(pod) !== undefined || isEnding(pod.metadata.uid);
  const { force, soft } = withoutKept(collect(answers, settings.dryRun), keeps);
  const { best, evictable } = chosenPods({ force: force.endable, soft: soft.endable });
  const underWay = evictable.filter(({ pod }) => isUnderWay(pod.metadata.uid));
  const { ending, queued } = inBursts(
    evictable.filter(({ pod }) => !isUnderWay(pod.metadata.uid)),
    settings.evictionBurst,
  );
  const all = { best, underWay, ending, queued, burst: settings.evictionBurst, isEnding };
  const candidates = inOrderOfImportance(
    [...soft.all.values()].filter(({ pod }) => !force.all.has(pod.metadata.uid)),
  );
  return {
    candidates: [...force.all.values(), ...candidates].map((ruled) => ({ ruled, ...judged(ruled, all) })),
    ending,
    queued,
    underWay,
    notified: [...soft.all.values()].filter(({ pod }) => wantsNotice(pod) && !isEnding(pod.metadata.uid)),
    dryRun: ofDryRun(answers, settings.dryRun),
  };
}

/** Why no plugin may end the pod, if so. An unknown QoS level does not change that for a critical pod. */
export function keptBecause(pod: Pod): string | undefined {
  if (isMirrorPod(pod) || isStaticPod(pod)) return 'it is a static pod';
  if (isCriticalPod(pod)) return 'it is critical';
  return knownQosLevel(pod) === 'system_cores' ? 'its QoS level is system_cores' : undefined;
}

type ByUID = ReadonlyMap<string, RuledPod>;

function withoutKept(
  { force, soft }: { readonly force: ByUID; readonly soft: ByUID },
  keeps: (pod: Pod) => boolean,
) {
  const split = (all: ByUID) => ({
    all,
    endable: new Map([...all].filter(([, { pod }]) => !keeps(pod))),
  });
  return { force: split(force), soft: split(soft) };
}

function inBursts(pods: readonly RuledPod[], burst: number) {
  const queue = new EvictionQueue<RuledPod & { readonly uid: string }>(burst);
  queue.replace(pods.map((ruled) => ({ ...ruled, uid: ruled.pod.metadata.uid })));
  return { ending: queue.take(), queued: queue.entries };
}

interface Chosen {
  readonly best: RuledPod | undefined;
  readonly underWay: readonly RuledPod[];
  readonly ending: readonly RuledPod[];
  readonly queued: readonly RuledPod[];
  readonly burst: number;
  readonly isEnding: ChoiceFacts['isEnding'];
}

function judged(
  ruled: RuledPod,
  { best, underWay, ending, queued, burst, isEnding }: Chosen,
): Omit<RuledCandidate, 'ruled'> {
  const { pod, plugin, forceEvict } = ruled;
  const isOneOf = (pods: readonly RuledPod[]) =>
    pods.some((other) => other.pod.metadata.uid === pod.metadata.uid);
  const kept = keptBecause(pod);
  if (kept !== undefined) return { verdict: 'Stays', why: `${kept}: no plugin ends it` };
  if (isEnding(pod.metadata.uid)) return { verdict: 'BeingEnded', why: 'it is ending, or has ended' };
  if (isOneOf(underWay)) return { verdict: 'BeingEnded', why: 'it is being ended for plugins already' };
  const reason = forceEvict ? `plugin ${plugin} wants it gone in any case` : 'it is the least important one';
  if (isOneOf(ending)) return { verdict: 'Goes', why: reason };
  if (isOneOf(queued))
    return { verdict: 'Queued', why: `${reason}; no more than ${burst} are ended in one pass` };
  if (wantsNotice(pod)) return { verdict: 'Notified', why: 'it asks for a notice instead of being chosen' };
  const name = best && `${best.pod.metadata.namespace}/${best.pod.metadata.name}`;
  return { verdict: 'Stays', why: `${name ?? 'another pod'} is less important` };
}

/** The pods that plugins in dry run have named, collected as if only these plugins were asked. */
function ofDryRun(answers: readonly PluginAnswers[], dryRun: readonly string[]): readonly RuledPod[] {
  const counted = collect(answers, dryRun);
  const { force, soft } = collect(
    answers.filter(({ plugin }) => counted.isDryRun(plugin)),
    [],
  );
  return [...force.values(), ...[...soft.values()].filter(({ pod }) => !force.has(pod.metadata.uid))];
}

export interface ChosenPods {
  /** The candidate that joins those that are to go in any case. */
  readonly best: RuledPod | undefined;
  /** All pods that are to be ended, in the order in which they were named. */
  readonly evictable: readonly RuledPod[];
}

/** Of the candidates, only the least important one goes, and only those count that are not to go in any case. */
export function chosenPods({ soft, force }: Pick<CollectedAnswers, 'soft' | 'force'>): ChosenPods {
  const best = leastImportant([...soft.values()].filter(({ pod }) => !force.has(pod.metadata.uid)));
  const all = [...force.values(), ...(best ? [best] : [])];
  return { best, evictable: all.filter(({ pod }) => isEvictable(pod)) };
}

/** The pods that are to be ended, in the order in which they came. At most `burst` of them go at a time; below 0: all. */
export class EvictionQueue<T extends { readonly uid: string }> {
  readonly #burst: number;
  readonly #entries = new Map<string, T>();

  constructor(burst: number) {
    this.#burst = burst;
  }

  get entries(): readonly T[] {
    return [...this.#entries.values()];
  }

  /** A pod that is queued already keeps its place. */
  add(entries: readonly T[]): void {
    for (const entry of entries) if (!this.#entries.has(entry.uid)) this.#entries.set(entry.uid, entry);
  }

  /** Queues these in place of all that are queued now. */
  replace(entries: readonly T[]): void {
    this.#entries.clear();
    this.add(entries);
  }

  withdraw(uids: readonly string[]): void {
    for (const uid of uids) this.#entries.delete(uid);
  }

  /** Takes the first ones. */
  take(): readonly T[] {
    const { entries } = this;
    const taken = this.#burst < 0 ? entries : entries.slice(0, this.#burst);
    this.withdraw(taken.map(({ uid }) => uid));
    return taken;
  }
}
