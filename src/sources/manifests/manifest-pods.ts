/** Reads the static pods of a manifest. A large manifest is read by a worker thread, so that it does not block the event loop. */
import { parseManifest, type Manifest } from './read-manifest.ts';
import { staticPod, type StaticPodOrigin, type StaticPods } from '../static-pod.ts';

/** A manifest up to this size is read in less time than a thread takes to start. */
export const INLINE_BYTES_MAX = 8 * 1024;

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
