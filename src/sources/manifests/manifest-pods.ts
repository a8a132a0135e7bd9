/** Reads the pods of a manifest. A large manifest is read by a worker thread, so that it does not block the event loop. */
import { parseManifest, type Manifest } from './read-manifest.ts';
import { manifestPod, type ManifestPods } from '../pod-of-manifest.ts';
import type { ManifestOrigin } from '../source.ts';

/** A manifest up to this size is read in less time than a thread takes to start. */
export const INLINE_BYTES_MAX = 8 * 1024;

/** Rejects only when `signal` aborts, which ends the thread. */
export async function readManifestPods(
  content: Uint8Array,
  origin: ManifestOrigin,
  signal?: AbortSignal,
): Promise<ManifestPods> {
  if (content.length <= INLINE_BYTES_MAX) return manifestPods(parseManifest(content, origin), origin);
  const { readInThread } = await import('./manifest-thread.ts');
  return readInThread(content, origin, signal);
}

function manifestPods({ pods, problems }: Manifest, origin: ManifestOrigin): ManifestPods {
  return { pods: pods.map((pod) => manifestPod(pod, origin)), problems };
}
