import type { Pod } from '../../types/kubernetes.ts';
import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION, podFullName } from '../pod/pod-kinds.ts';

/** Whether the mirror pod was made of this version of the static pod: it has its name and its hash. */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  return (
    podFullName(mirrorPod) === podFullName(pod) &&
    mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === mirrorHash(pod)
  );
}

/** What a mirror pod says of its static pod: the hash of the manifest. */
export function mirrorHash(pod: Pod): string {
  return pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? '';
}
