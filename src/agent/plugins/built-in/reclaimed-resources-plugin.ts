import { isReclaimed } from '../../policies/eviction-plugins/built-in/built-in-pods.ts';
import {
  type Amounts,
  judgeReclaimed,
  reclaimableResources,
  reclaimedToGo,
} from '../../policies/eviction-plugins/built-in/reclaimed-resources.ts';
import type { Asked } from '../../policies/eviction-plugins/built-in/built-in-policy.ts';
import type { QuestionFigures } from './pass-figures.ts';
import { type BuiltIn, Unanswered } from './plugin-tools.ts';

/** Whether pods of `reclaimed_cores` request far more than the node can give them. */
export const reclaimedResources: BuiltIn<undefined> = {
  atFirst: undefined,

  async threshold(asked, figures) {
    if (!asked.pods.some(isReclaimed)) return undefined;
    const canGive = await canBeGiven(asked, figures);
    if (canGive.size > 0) return judgeReclaimed(canGive, asked);
    return new Unanswered('it is not known how much the node can give to pods of reclaimed_cores');
  },

  async top(asked, figures) {
    return reclaimedToGo(asked.topN > 0 ? new Map() : await canBeGiven(asked, figures), asked);
  },
};

async function canBeGiven({ pods }: Asked, figures: QuestionFigures): Promise<Amounts> {
  return reclaimableResources({ allocatable: figures.allocatable(), pods, stats: await figures.pods() });
}
