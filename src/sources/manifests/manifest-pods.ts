/** Static pods of a manifest. A large one is read by a thread of its own, so that the agent goes on meanwhile. */
import type { Pod } from '../../types/kubernetes.ts';
import { parseManifest, type Manifest } from './read-manifest.ts';
import type { ManifestProblem } from '../source.ts';
import { staticPod, type StaticPodOrigin } from '../static-pod.ts';

/** What is no larger takes less time than a thread takes to start. */
export const INLINE_BYTES_MAX = 8 * 1024;

export interface StaticPods {
  /** None where there is a problem. */
  readonly pods: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
}

/** Rejects only when `signal` aborts, which ends the thread. */
export async function readStaticPods(
  content: Uint8Array,
  origin: StaticPodOrigin,
  signal?: AbortSignal,
): Promise<StaticPods> {
  if (content.length <= INLINE_BYTES_MAX) return staticPods(parseManifest(content, origin.nodeName), origin);
  const { readInThread } = await import('./manifest-thread.ts');
  return readInThread(content, origin, signal);
}

function staticPods({ pods, problems }: Manifest, origin: StaticPodOrigin): StaticPods {
  return { pods: pods.map((pod) => staticPod(pod, origin)), problems };
}
