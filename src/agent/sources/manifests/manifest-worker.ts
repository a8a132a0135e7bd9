/** The entry of the worker thread that reads a large manifest; `manifest-thread.ts` starts it. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { Pod } from '../../../types/kubernetes.ts';
import { parseManifest } from './read-manifest.ts';
import type { ManifestOrigin, ManifestProblem } from '../source.ts';
import { manifestPod } from '../pod-of-manifest.ts';

export interface ManifestTask {
  readonly content: Uint8Array;
  readonly origin: ManifestOrigin;
}

/** One message for each pod, sent when the agent asks for it; then one with the problems. */
export type ThreadMessage =
  { readonly pod: Pod; readonly problems?: undefined } | { readonly problems: readonly ManifestProblem[] };

async function run(): Promise<void> {
  if (!parentPort) return;
  const { content, origin } = workerData as ManifestTask;
  const { pods, problems } = parseManifest(content, origin);
  for (const pod of pods) {
    parentPort.postMessage({ pod: manifestPod(pod, origin) } satisfies ThreadMessage);
    await once(parentPort, 'message');
  }
  parentPort.postMessage({ problems } satisfies ThreadMessage);
}

await run();
