/** Errors of calls to a runtime: gRPC's code as the kind, and a message that says what to do, if that is known. */
import type { ServiceError } from '@grpc/grpc-js';
import { type ErrorKind, StateletError } from '../../../types/errors.ts';
import { kindOfCode } from '../../../system/grpc/grpc-codes.ts';

type Answer = Pick<ServiceError, 'code' | 'details'>;

export function callError(name: string, endpoint: string, answer: Answer): StateletError {
  const kind = kindOf(answer);
  return new StateletError(kind, messageOf(kind, name, endpoint, answer.details), { cause: answer });
}

export const canceled = (name: string): StateletError =>
  new StateletError('Canceled', `${name} was given up`);

export const closed = (name: string): StateletError =>
  new StateletError('Unavailable', `${name}: the connection to the runtime was closed`);

export const deadlineError = (name: string, endpoint: string, timeoutMs: number): StateletError =>
  new StateletError(
    'DeadlineExceeded',
    `the container runtime at ${endpoint} has not answered ${name} within ${timeoutMs / 1000} s`,
  );

/** containerd's answer, without a special code, while it restores its state after a restart. */
const STARTING = 'server is not initialized yet';

function kindOf({ code, details }: Answer): ErrorKind {
  if (details.includes(STARTING)) return 'Unavailable';
  return kindOfCode(code);
}

function messageOf(kind: ErrorKind, name: string, endpoint: string, details: string): string {
  if (kind === 'Unavailable') {
    return (
      `the container runtime at ${endpoint} is not available for ${name}: ${details}. ` +
      'Check that it runs, and that this is its socket'
    );
  }
  if (kind === 'Unimplemented' && details.includes('unknown service')) {
    return (
      `what listens at ${endpoint} does not speak CRI v1 (${details}): check that its CRI plugin is on ` +
      '(disabled_plugins in its config.toml) and that this is the socket of a container runtime'
    );
  }
  return kind === 'ResourceExhausted' || kind === 'Unimplemented' || details === ''
    ? `${name}: ${details || kind}`
    : details;
}
