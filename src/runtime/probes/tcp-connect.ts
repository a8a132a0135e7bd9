import { connect } from 'node:net';
import { type Address, hostPort } from '../../policies/probes/probe-request.ts';
import { errorKind, StateletError } from '../../types/errors.ts';
import { dialFailure } from './connection-errors.ts';

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
