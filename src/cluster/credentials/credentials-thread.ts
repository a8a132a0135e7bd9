/** Does one task in a worker thread. The thread ends afterwards, which frees its memory. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { CredentialsAnswer, CredentialsTask, SigningRequestInput } from './credentials-task.ts';
import type { LoadedKubeconfig } from './load-kubeconfig.ts';

/** Longer than a program of a kubeconfig may take. */
const TIMEOUT_MS = 90_000;
/** The same as this file's: TypeScript in a checkout, JavaScript in the package. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const ENTRY = fileURLToPath(new URL(`./credentials-worker.${EXTENSION}`, import.meta.url));

/** See `loadKubeconfig`. */
export function loadKubeconfigInThread(path: string): Promise<LoadedKubeconfig> {
  return inThread({ type: 'kubeconfig', path });
}

/** See `signingRequest`. */
export function signingRequestInThread(request: SigningRequestInput): Promise<string> {
  return inThread({ type: 'signingRequest', request });
}

async function inThread<T>(task: CredentialsTask): Promise<T> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const worker = new Worker(ENTRY, {
    workerData: task,
    ...(EXTENSION === 'ts' && { execArgv: ['--disable-warning=ExperimentalWarning'] }),
  });
  try {
    const [message] = (await once(worker, 'message', { signal: timeout })) as [CredentialsAnswer];
    if (message.problem) throw new StateletError(message.problem.kind, message.problem.message);
    return message.result as T;
  } catch (error) {
    if (error instanceof StateletError) throw error;
    const problem = timeout.aborted ? `took more than ${TIMEOUT_MS / 1000} s` : errorMessage(error);
    throw new StateletError('Unavailable', `the thread that reads credentials: ${problem}`, { cause: error });
  } finally {
    await worker.terminate();
  }
}
