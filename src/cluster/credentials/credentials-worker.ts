/**
 * The entry of the worker thread that reads kubeconfigs and makes certificate requests; `credentials-thread.ts` starts it. The libraries
 * for that take some 35 MB, which are free again when the thread has ended.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { errorKind, errorMessage } from '../../types/errors.ts';
import type { CredentialsAnswer, CredentialsTask } from './credentials-task.ts';

async function resultOf(task: CredentialsTask): Promise<unknown> {
  if (task.type === 'kubeconfig') return (await import('./load-kubeconfig.ts')).loadKubeconfig(task.path);
  return (await import('./signing-request.ts')).signingRequest(task.request);
}

async function answerTo(task: CredentialsTask): Promise<CredentialsAnswer> {
  try {
    return { result: await resultOf(task) };
  } catch (error) {
    return { problem: { kind: errorKind(error), message: errorMessage(error) } };
  }
}

parentPort?.postMessage(await answerTo(workerData as CredentialsTask));
