/** Reads one manifest in a worker thread. The thread ends afterwards, which frees its memory. */
import { on } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { ManifestTask, ThreadMessage } from './manifest-worker.ts';
import type { ManifestObject } from '../objects/manifest-object.ts';
import { frozen } from '../../../system/frozen.ts';
import type { ManifestPods } from '../pod-of-manifest.ts';
import type { ManifestOrigin } from '../source.ts';
import { PROGRAM_FLAGS, programFile } from '../../../system/program-file.ts';

/** The largest manifest that keeps all limits takes a tenth of this. */
const TIMEOUT_MS = 60_000;
const MEMORY_MIB_MAX = 512;
const ENTRY = programFile('manifest-worker', import.meta.url);

/** Rejects only when `signal` aborts, which ends the thread. */
export async function readInThread(
  content: Uint8Array,
  origin: ManifestOrigin,
  signal?: AbortSignal,
): Promise<ManifestPods> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const worker = new Worker(ENTRY, {
    workerData: { content, origin } satisfies ManifestTask,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB_MAX },
    execArgv: [...PROGRAM_FLAGS],
  });
  try {
    return await receive(worker, signal ? AbortSignal.any([signal, timeout]) : timeout);
  } catch (error) {
    signal?.throwIfAborted();
    const message = failureMessage(error, timeout.aborted);
    return { pods: [], objects: [], problems: [{ message }], isBroken: true };
  } finally {
    await worker.terminate();
  }
}

/** Takes one pod or object in each turn of the event loop: all at once would block it. */
async function receive(worker: Worker, signal: AbortSignal): Promise<ManifestPods> {
  const pods: Pod[] = [];
  const objects: ManifestObject[] = [];
  for await (const [message] of on(worker, 'message', { signal, close: ['exit'] })) {
    const answer = message as ThreadMessage;
    if (answer.rest) return { pods, objects, ...answer.rest };
    if ('pod' in answer) pods.push(frozen(answer.pod));
    else objects.push(frozen(answer.object));
    await turn();
    worker.postMessage('next');
  }
  throw new Error('the thread that reads it has ended');
}

function failureMessage(error: unknown, isLate: boolean): string {
  if (isLate) return `could not be read within ${TIMEOUT_MS / 1000} s: split it into several files`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return `takes more than ${MEMORY_MIB_MAX} MiB of memory to read: split it into several files`;
  return `cannot be read: ${errorMessage(error)}`;
}
