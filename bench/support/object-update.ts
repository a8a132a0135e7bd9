/** How long a new value of a ConfigMap takes to the files of the pods that mount it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiServer } from '../../src/agent/cluster/service/api-server.ts';
import { errnoCode } from '../../src/system/system-errors.ts';
import type { ConfigMap, Pod } from '../../src/types/kubernetes.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { nowMs } from './measures.ts';

const NAME = 'settings';
const KEY = 'key';
/** The kubelet takes up to a minute and a half. */
const TIMEOUT_MS = 180_000;

/** Fields of a pod's spec and of its container that mount the ConfigMap. */
export const MOUNTED = {
  volumes: [{ name: NAME, configMap: { name: NAME } }],
  volumeMounts: [{ name: NAME, mountPath: '/settings' }],
};

export async function createSettings(api: ApiServer, namespace: string): Promise<void> {
  const object: ConfigMap = { metadata: { name: NAME, namespace }, data: { [KEY]: 'old' } };
  await api.create({ resource: 'configmaps', namespace }, object);
}

export async function deleteSettings(api: ApiServer, namespace: string): Promise<void> {
  await api.delete({ resource: 'configmaps', namespace, name: NAME });
}

/** Undefined while its folder is being exchanged. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Milliseconds for each pod of the agent with that root folder. */
export async function timeUpdate(
  api: ApiServer,
  namespace: string,
  rootDir: string,
): Promise<readonly number[]> {
  const { items } = await api.list<Pod>({ resource: 'pods', namespace });
  const files = items.map(({ metadata: { uid } }) =>
    join(rootDir, 'pods', uid, 'volumes', 'kubernetes.io~configmap', NAME, KEY),
  );
  const taken = new Map<string, number>();
  const begun = nowMs();
  await api.patch({ resource: 'configmaps', namespace, name: NAME }, { data: { [KEY]: 'new' } });
  const isDone = () => {
    for (const file of files)
      if (!taken.has(file) && textOf(file) === 'new') taken.set(file, nowMs() - begun);
    return taken.size === files.length;
  };
  await waitFor(isDone, { what: 'the new value in all files', timeoutMs: TIMEOUT_MS });
  return [...taken.values()];
}
