/** The entry of the worker thread that reads a large manifest; `manifest-thread.ts` starts it. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { Pod } from '../../../types/kubernetes.ts';
import { type Manifest, parseManifest } from './read-manifest.ts';
import type { ManifestObject } from '../objects/manifest-object.ts';
import type { ManifestOrigin } from '../source.ts';
import { manifestPod } from '../pod-of-manifest.ts';

export interface ManifestTask {
  readonly content: Uint8Array;
  readonly origin: ManifestOrigin;
}

/** One message for each pod and object, sent when the agent asks for it; then one with all else. */
export type ThreadMessage =
  | { readonly pod: Pod; readonly rest?: undefined }
  | { readonly object: ManifestObject; readonly rest?: undefined }
  | { readonly rest: Omit<Manifest, 'pods' | 'objects'> };

async function run(): Promise<void> {
  const port = parentPort;
  if (!port) return;
  const { content, origin } = workerData as ManifestTask;
  const { pods, objects, ...rest } = parseManifest(content, origin);
  const send = async (message: ThreadMessage) => {
    port.postMessage(message);
    await once(port, 'message');
  };
  for (const pod of pods) await send({ pod: manifestPod(pod, origin) });
  for (const object of objects) await send({ object });
  port.postMessage({ rest } satisfies ThreadMessage);
}

await run();
