import { errorMessage, StateletError } from '../../types/errors.ts';

/**
 * The message of a failed call, with gRPC's code as in the kubelet's events: people search for that text. Other errors, and
 * those whose message has an advice, keep their message.
 */
export function runtimeMessage(error: unknown): string {
  const message = errorMessage(error);
  if (!(error instanceof StateletError)) return message;
  const { kind, cause } = error;
  // An error whose kind says more than the runtime's code: people search for the runtime's code.
  if (cause instanceof StateletError && cause.message === message) return runtimeMessage(cause);
  const isAnswer = typeof cause === 'object' && cause !== null && 'details' in cause;
  return isAnswer && cause.details === message ? `rpc error: code = ${kind} desc = ${message}` : message;
}
