import { connect } from 'node:net';
import { type Address, hostPort } from '../../policies/probes/probe-request.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';

/** Connects and closes the connection. Rejects with DeadlineExceeded or Unavailable. */
export async function tcpConnect(address: Address, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const socket = connect(address);
  const abort = () => socket.destroy(new Error('aborted'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    await new Promise((resolve, reject) => socket.once('connect', resolve).on('error', reject));
  } catch (cause) {
    if (!signal.aborted) throw new StateletError('Unavailable', dialFailure(address, cause), { cause });
    if (errorKind(signal.reason) !== 'DeadlineExceeded') throw signal.reason;
    throw new StateletError('DeadlineExceeded', `dial tcp ${hostPort(address)}: i/o timeout`, { cause });
  } finally {
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

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
