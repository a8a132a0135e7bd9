/** Reads the pods of a manifest. A large or an unusual one is read by a worker thread, so that it does not block the event loop. */
import { isReadInline } from './inline-manifests.ts';
import { parseManifest, type Manifest } from './read-manifest.ts';
import { manifestPod, type ManifestPods } from '../pod-of-manifest.ts';
import type { ManifestOrigin } from '../source.ts';

/** Rejects only when `signal` aborts, which ends the thread. */
export async function readManifestPods(
  content: Uint8Array,
  origin: ManifestOrigin,
  signal?: AbortSignal,
): Promise<ManifestPods> {
  if (isReadInline(content)) return manifestPods(parseManifest(content, origin), origin);
  const { readInThread } = await import('./manifest-thread.ts');
  return readInThread(content, origin, signal);
}

function manifestPods({ pods, problems }: Manifest, origin: ManifestOrigin): ManifestPods {
  return { pods: pods.map((pod) => manifestPod(pod, origin)), problems };
}
