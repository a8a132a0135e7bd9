/**
 * The entry of the process that makes certificates and requests for them; `own-process.ts` starts it. Measured: a worker thread with
 * the libraries for that leaves 40 MB resident when it has ended, a process nothing, and it takes no longer.
 */
import { endProcess } from '../../system/end-process.ts';
import { errorKind, errorMessage } from '../../types/errors.ts';
import type { CredentialsAnswer, CredentialsTask } from './credentials-task.ts';

async function resultOf(task: CredentialsTask): Promise<unknown> {
  if (task.type === 'selfSigned')
    return (await import('./self-signed-certificate.ts')).selfSignedCertificate(task.input);
  return (await import('./signing-request.ts')).signingRequest(task.request);
}

async function answerTo(task: CredentialsTask): Promise<CredentialsAnswer> {
  try {
    return { result: await resultOf(task) };
  } catch (error) {
    return { problem: { kind: errorKind(error), message: errorMessage(error) } };
  }
}

process.once('message', (task: CredentialsTask) => {
  void answerTo(task).then((answer) => process.send?.(answer, () => endProcess(0)));
});
// The agent is gone.
process.once('disconnect', () => endProcess(0));
