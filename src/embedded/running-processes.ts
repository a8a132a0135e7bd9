import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runtimeLayout } from './layout.ts';
import { Connection } from './monitor/connection.ts';
import { connectSocket } from './monitor/monitor-socket.ts';
import { ifThere } from '../system/system-errors.ts';
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

/** In the folder of a pod. Of what is in it each container of a CRI runtime has a file mounted, and a plain process none. */
const FOLDER_OF_CONTAINERS = 'containers';

/**
 * The same the other way round, before pods of the root folder run as plain processes: rejects while containers of a CRI runtime use files
 * of their folders. Their pods would run twice, and nobody would end them.
 */
export async function refuseRunningContainers(rootDir: string): Promise<void> {
  const podsDir = join(rootDir, 'pods');
  const names = (await ifThere(readdir(podsDir))) ?? [];
  const isOfContainers = (name: string) => existsSync(join(podsDir, name, FOLDER_OF_CONTAINERS));
  const uids = names.filter(isOfContainers);
  if (uids.length === 0) return;
  const [{ processWithMounts }, { findRuntimes }, { choiceText }] = await Promise.all([
    import('../agent/runtime/volumes/remove-pod-folder.ts'),
    import('../agent/runtime/cri/find-runtimes.ts'),
    import('../agent/policies/cri/found-runtimes.ts'),
  ]);
  const user = await processWithMounts(uids.map((uid) => `/pods/${uid}/${FOLDER_OF_CONTAINERS}/`));
  if (user === undefined) return;
  const choice = choiceText(await findRuntimes()) ?? '--container-runtime-endpoint=unix:///PATH';
  throw new StateletError(
    'FailedPrecondition',
    `--container-runtime-endpoint is embedded, and containers of pods of the root folder ${rootDir} run in a container runtime ` +
      `(process ${user.pid} uses ${user.part}): go on with that runtime (${choice}), end them there, or give another --root-dir`,
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
