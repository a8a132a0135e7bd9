/**
 * The entry of the process that makes certificates and requests for them; `ask-credentials-process.ts` starts it. Measured: a worker thread with
 * the libraries for that leaves 40 MB resident when it has ended, a process nothing, and it takes no longer.
 */
import { endProcess } from '../../../system/run-command.ts';
import { errorKind, errorMessage } from '../../../types/errors.ts';
import { selfSignedCertificate, signingRequest } from './made-certificates.ts';
import type { CredentialsAnswer, CredentialsTask } from './ask-credentials-process.ts';

function answerTo(task: CredentialsTask): CredentialsAnswer {
  try {
    return {
      result: task.type === 'selfSigned' ? selfSignedCertificate(task.input) : signingRequest(task.request),
    };
  } catch (error) {
    return { problem: { kind: errorKind(error), message: errorMessage(error) } };
  }
}

process.once('message', (task: CredentialsTask) => {
  process.send?.(answerTo(task), () => endProcess(0));
});
// Without an agent the answer is useless.
process.once('disconnect', () => endProcess(0));
