import {
  rssAllowances,
  rssOveruse as candidatesOf,
} from '../../policies/eviction-plugins/built-in/rss-overuse.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { type BuiltIn, Unanswered } from './plugin-tools.ts';

/** Whether a pod holds far more resident memory than it requests. */
export const rssOveruse: BuiltIn<undefined> = {
  atFirst: undefined,

  async candidates(asked, figures) {
    const allowances = rssAllowances(asked.pods, asked.settings.rssOveruse);
    if (allowances.length === 0) return undefined;
    const stats = await figures.pods();
    const rssBytes = ({ metadata }: Pod) => stats.get(metadata.uid)?.memory?.rssBytes;
    if (allowances.some(({ pod }) => rssBytes(pod) !== undefined))
      return { kept: undefined, evictPods: candidatesOf(allowances, rssBytes) };
    return new Unanswered('it is not known how much resident memory pods have');
  },
};
