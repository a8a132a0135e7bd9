/** The entry of the worker thread that reads a large manifest; `manifest-thread.ts` starts it. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { Pod } from '../../types/kubernetes.ts';
import { parseManifest } from './read-manifest.ts';
import type { ManifestProblem } from '../source.ts';
import { staticPod, type StaticPodOrigin } from '../static-pod.ts';

export interface ManifestTask {
  readonly content: Uint8Array;
  readonly origin: StaticPodOrigin;
}

/** One message for each pod, sent when the agent asks for it; then one with the problems. */
export type ThreadMessage =
  { readonly pod: Pod; readonly problems?: undefined } | { readonly problems: readonly ManifestProblem[] };

async function run(): Promise<void> {
  if (!parentPort) return;
  const { content, origin } = workerData as ManifestTask;
  const { pods, problems } = parseManifest(content, origin.nodeName);
  for (const pod of pods) {
    parentPort.postMessage({ pod: staticPod(pod, origin) } satisfies ThreadMessage);
    await once(parentPort, 'message');
  }
  parentPort.postMessage({ problems } satisfies ThreadMessage);
}

await run();
