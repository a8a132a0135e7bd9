import {
  comparesRootfs,
  judgeRootfs,
  overuseLooksAt,
  rootfsOveruse as candidatesOf,
  type RootfsKept,
  rootfsVictims,
} from '../../policies/eviction-plugins/built-in/rootfs.ts';
import { type BuiltIn, Unanswered } from './plugin-tools.ts';

const NOTHING_COMPARED = new Unanswered(
  'nothing is compared: neither minimumImageFsFreeThreshold nor minimumImageFsInodesFreeThreshold is given',
);
const UNKNOWN = new Unanswered('it is not known how much space the file system of writable layers has');

/** Whether the file system of images and writable layers is short of space. */
export const rootfsPressure: BuiltIn<RootfsKept> = {
  atFirst: undefined,

  async threshold(asked, figures) {
    if (!comparesRootfs(asked.settings)) return NOTHING_COMPARED;
    const fs = await figures.rootfs();
    return fs === undefined ? UNKNOWN : judgeRootfs(fs, asked);
  },

  /** Goes by what the last `threshold` found. */
  async top(asked, figures, kept) {
    const [fs, stats] = await Promise.all([figures.rootfs(), figures.disksOfPods()]);
    return fs === undefined ? UNKNOWN : rootfsVictims({ fs, stats }, asked, kept);
  },
};

/** Whether a pod has written far too much into its containers. */
export const rootfsOveruse: BuiltIn<undefined> = {
  atFirst: undefined,

  async candidates(asked, figures) {
    if (overuseLooksAt(asked.pods, asked.settings.rootfsOveruse).length === 0) return undefined;
    const [fs, stats] = await Promise.all([figures.rootfs(), figures.disksOfPods()]);
    return fs === undefined ? UNKNOWN : candidatesOf({ fs, stats }, asked);
  },
};
