import type { Node, Pod } from '../../types/kubernetes.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';
import { isMirrorPodOf } from './mirror-pod-of.ts';

export interface MirrorPodFacts {
  readonly pod: Pod;
  /** The mirror pod of its name, as the source `api` shows it. */
  readonly mirrorPod?: Pod | undefined;
  /** The mirror pod shows an earlier life of the static pod, which has ended. */
  readonly isOutlived?: boolean;
  /** The node's own object; undefined while it is not known. */
  readonly node?: Node | undefined;
}

export interface MirrorPodPlan {
  /** This mirror pod is not of this static pod, or has ended, or is being deleted: it goes, without a grace period. */
  readonly delete?: Pod;
  /** A new mirror pod is made; where one has to go, only after its deletion has succeeded. */
  readonly create: boolean;
}

/** What has to be done so that the static pod has its mirror pod. */
export function planMirrorPod({ pod, mirrorPod, isOutlived = false, node }: MirrorPodFacts): MirrorPodPlan {
  if (!isStaticPod(pod)) return { create: false };
  const isStale =
    mirrorPod !== undefined &&
    (isOutlived || mirrorPod.metadata.deletionTimestamp !== undefined || !isMirrorPodOf(mirrorPod, pod));
  const isWanted = mirrorPod === undefined || isStale;
  // A node that is being deleted takes its mirror pods with it.
  const hasNode = node !== undefined && node.metadata.deletionTimestamp === undefined;
  return { ...(isStale && { delete: mirrorPod }), create: isWanted && hasNode };
}
