/** Does one task in a process of its own, which ends afterwards and so frees its memory. */
import { fork } from 'node:child_process';
import type { CertificateTemplate } from '../../policies/cluster/certificates.ts';
import { type ErrorKind, StateletError } from '../../../types/errors.ts';
import { PROGRAM_FLAGS, programFile } from '../../../system/program-file.ts';

const TIMEOUT_MS = 30_000;
const ENTRY = programFile('credentials-process', import.meta.url);

/** See `signingRequest`. */
export function signingRequestApart(request: SigningRequestInput): Promise<string> {
  return inOwnProcess({ type: 'signingRequest', request });
}

/** See `selfSignedCertificate`. */
export function selfSignedApart(
  input: SelfSignedInput,
): Promise<{ readonly cert: string; readonly key: string }> {
  return inOwnProcess({ type: 'selfSigned', input });
}

async function inOwnProcess<T>(task: CredentialsTask): Promise<T> {
  const answer = await answerTo(task);
  if (answer.problem) throw new StateletError(answer.problem.kind, answer.problem.message);
  return answer.result as T;
}

function answerTo(task: CredentialsTask): Promise<CredentialsAnswer> {
  const limit = { signal: AbortSignal.timeout(TIMEOUT_MS), killSignal: 'SIGKILL' } as const;
  const child = fork(ENTRY, {
    execArgv: [...PROGRAM_FLAGS],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    ...limit,
  });
  return new Promise((resolve, reject) => {
    const fail = (problem: string) =>
      reject(new StateletError('Unavailable', `the process that makes certificates ${problem}`));
    child.once('message', (answer) => resolve(answer as CredentialsAnswer));
    child.once('error', ({ message }) =>
      fail(limit.signal.aborted ? `took more than ${TIMEOUT_MS / 1000} s` : `cannot run: ${message}`),
    );
    // After the answer this changes nothing.
    child.once('close', (code, signal) => fail(`ended with ${code ?? signal} before it answered`));
    child.send(task, (error) => error && fail(`cannot be asked: ${error.message}`));
  });
}

export interface SigningRequestInput {
  readonly template: CertificateTemplate;
  /** PEM. */
  readonly key: string;
}

/** A certificate that is signed with its own key. */
export interface SelfSignedInput {
  /** The subject, and the one DNS name. */
  readonly hostName: string;
  /** Unix milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export type CredentialsTask =
  | { readonly type: 'selfSigned'; readonly input: SelfSignedInput }
  | { readonly type: 'signingRequest'; readonly request: SigningRequestInput };

export type CredentialsAnswer =
  | { readonly result: unknown; readonly problem?: undefined }
  | { readonly problem: { readonly kind: ErrorKind; readonly message: string } };
