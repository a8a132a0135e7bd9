import { leastImportant } from './candidate-order.ts';
import type { CollectedAnswers, RuledPod } from './collected-answers.ts';
import { isEvictable } from './qos-level.ts';

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
