import { runtimeLayout } from './layout.ts';
import { Connection } from './monitor/connection.ts';
import { connectSocket } from './monitor/monitor-socket.ts';
import { StateletError } from '../types/errors.ts';

/**
 * Before another runtime is used with the root folder. Rejects with FailedPrecondition while pods of it run as plain processes: an agent of
 * the other runtime would not know of them, and they would go on for ever.
 */
export async function refuseRunningProcesses(rootDir: string, endpoint: string): Promise<void> {
  const names = await runningPods(rootDir);
  if (names.length === 0) return;
  throw new StateletError(
    'FailedPrecondition',
    `--container-runtime-endpoint is ${endpoint}, and pods of the root folder ${rootDir} run as plain processes (${names.join(', ')}): ` +
      'end them (statelet run --container-runtime-endpoint=embedded with their manifests and --exit-with-pods, then Ctrl-C), or give another --root-dir',
  );
}

async function runningPods(rootDir: string): Promise<readonly string[]> {
  // Where no monitor listens, nothing runs: it lives as long as its containers.
  const connecting = Promise.resolve().then(() => connectSocket(runtimeLayout(rootDir).runtimeDir));
  const socket = await connecting.catch(() => undefined);
  if (socket === undefined) return [];
  const connection = new Connection(socket, () => undefined);
  try {
    await connection.hello;
    const sandboxes = await connection.call('listPodSandbox', [{ state: 'SANDBOX_READY' }]);
    return sandboxes.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  } finally {
    await connection.close();
  }
}
