import { errorMessage, StateletError } from '../../types/errors.ts';

/**
 * What a runtime says of a call that failed, with gRPC's code as the kubelet has it in events: people search for that. Other
 * errors, and answers to which there is advice to give, say what they say.
 */
export function runtimeMessage(error: unknown): string {
  const message = errorMessage(error);
  if (!(error instanceof StateletError)) return message;
  const { kind, cause } = error;
  const isAnswer = typeof cause === 'object' && cause !== null && 'details' in cause;
  return isAnswer && cause.details === message ? `rpc error: code = ${kind} desc = ${message}` : message;
}
