import type { Pod } from '../../types/kubernetes.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  MANIFEST_HASH_ANNOTATION,
  podFullName,
} from '../pod/pod-kinds.ts';

/** Whether the mirror pod was made of this version of the static pod: it has its name and its hashes. */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  return (
    podFullName(mirrorPod) === podFullName(pod) &&
    mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === mirrorHash(pod) &&
    mirrorPod.metadata.annotations[MANIFEST_HASH_ANNOTATION] ===
      pod.metadata.annotations?.[MANIFEST_HASH_ANNOTATION]
  );
}

/** What a mirror pod says of its static pod: the hash of the manifest. */
export function mirrorHash(pod: Pod): string {
  return pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? '';
}
