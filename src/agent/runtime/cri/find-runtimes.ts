/** Looks for CRI runtimes at their usual sockets. Nothing of them is changed or kept open. */
import { access, constants, stat } from 'node:fs/promises';
import { type FoundRuntime, type LookedAt, USUAL_SOCKETS } from '../../policies/cri/found-runtimes.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { errorKind, errorMessage } from '../../../types/errors.ts';

/** A socket without a server fails at once; one whose server hangs does not. */
const PATIENCE_MS = 5_000;
/** A runtime may say anything of itself. */
const TEXT_MAX = 100;

export function findRuntimes(sockets = USUAL_SOCKETS): Promise<readonly LookedAt[]> {
  return Promise.all(sockets.map(lookAt));
}

async function lookAt(socket: string): Promise<LookedAt> {
  try {
    const found = await stat(socket).catch((error: unknown) => {
      throw errnoCode(error) === 'EACCES' ? new Error('this user may not see whether it is there') : error;
    });
    if (!found.isSocket()) return { socket, found: { problem: 'it is no socket' } };
    await access(socket, constants.R_OK | constants.W_OK);
    return { socket, found: await ask(socket) };
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { socket };
    if (code === 'EACCES') return { socket, found: { problem: 'this user may not use it: run as root' } };
    return { socket, found: { problem: problemOf(error) } };
  }
}

/** Loads the code for CRI only where there is a socket. */
async function ask(socket: string): Promise<FoundRuntime> {
  const [{ Channel }, { VERSION }] = await Promise.all([
    import('./calls/channel.ts'),
    import('./messages/methods.ts'),
  ]);
  const channel = new Channel(`unix://${socket}`);
  try {
    const { runtimeName: name, runtimeVersion: version } = await channel.call(
      VERSION,
      {},
      { timeoutMs: PATIENCE_MS },
    );
    return { name: name.slice(0, TEXT_MAX), version: version.slice(0, TEXT_MAX) };
  } finally {
    channel.close();
  }
}

function problemOf(error: unknown): string {
  switch (errorKind(error)) {
    case 'DeadlineExceeded':
      return `no answer within ${PATIENCE_MS / 1000} s`;
    case 'Unimplemented':
      return 'it does not speak CRI: with containerd, take cri out of disabled_plugins in /etc/containerd/config.toml';
    default:
      return errorMessage(error);
  }
}
