/** Failed connections in the kubelet's words, which people and tools know from its events. */
import { type Address, hostPort } from '../../policies/probes/probe-request.ts';
import { errorMessage } from '../../types/errors.ts';

const CONNECT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
};
const LOOKUP: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'temporary failure in name resolution',
};

export interface SystemError {
  readonly code?: string;
  readonly syscall?: string;
  /** The failure of each address, if the name has several. */
  readonly errors?: readonly SystemError[];
}

/** The message of a failed attempt to connect. */
export function dialFailure(address: Address, error: unknown): string {
  const { code = '' } = firstOf(error);
  const lookup = LOOKUP[code];
  if (lookup !== undefined) return `dial tcp: lookup ${address.host}: ${lookup}`;
  return `dial tcp ${hostPort(address)}: connect: ${CONNECT[code] ?? errorMessage(error)}`;
}

/** Whether there was no connection yet when the failure came. */
export function isDialFailure(error: unknown): boolean {
  const { code = '', syscall } = firstOf(error);
  return syscall === 'connect' || code in LOOKUP;
}

function firstOf(error: unknown): SystemError {
  const system = error as SystemError;
  return system.errors?.[0] ?? system;
}
