import { parsePodFullName } from '../pod/pod-kinds.ts';

export interface MirrorPodDeletion {
  readonly name: string;
  readonly namespace: string;
  /** A mirror pod has nothing to stop: it is deleted at once. */
  readonly gracePeriodSeconds: 0;
  /** Only the mirror pod with this UID. */
  readonly uid?: string;
}

/** Throws for a full name that is none. */
export function mirrorPodDeletion(fullName: string, uid?: string): MirrorPodDeletion {
  return { ...parsePodFullName(fullName), gracePeriodSeconds: 0, ...(uid !== undefined && { uid }) };
}
