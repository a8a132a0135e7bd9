/**
 * The entry of the worker thread that reads kubeconfigs and makes certificate requests; `credentials-thread.ts` starts it. The libraries
 * for that take some 35 MB, which are free again when the thread has ended.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { errorKind, errorMessage, type ErrorKind } from '../../types/errors.ts';
import type { CredentialsTask } from './credentials-thread.ts';

export type CredentialsAnswer =
  | { readonly result: unknown; readonly problem?: undefined }
  | { readonly problem: { readonly kind: ErrorKind; readonly message: string } };

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
