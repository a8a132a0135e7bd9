/** A process of its own that works on volumes, so that it can be killed. Its argument is a `VolumeTask` as JSON. */
import type { VolumeFile } from '../../../../src/agent/policies/volumes/projected-files.ts';
import { writePayload } from '../../../../src/agent/runtime/volumes/kinds/atomic-writer.ts';
import { objectContents } from '../../../../src/agent/runtime/volumes/kinds/volume-contents.ts';
import { VolumeManager } from '../../../../src/agent/runtime/volumes/volume-manager.ts';
import type { ApiObjects } from '../../../../src/types/api-objects.ts';
import type { TimerHandle } from '../../../../src/types/clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';

export type VolumeTask =
  | { readonly task: 'write'; readonly volume: string; readonly files: Readonly<Record<string, string>> }
  | { readonly task: 'mount' | 'remove'; readonly rootDir: string; readonly pod: Pod };

/** The files with a mode, by their paths. */
export function payloadOf(files: Readonly<Record<string, string>>): ReadonlyMap<string, VolumeFile> {
  return new Map(
    Object.entries(files).map(([path, content]) => [path, { path, content, mode: 0o640, owner: 12 }]),
  );
}

const silent = () => undefined;
const logger = { trace: silent, debug: silent, info: silent, warn: silent, error: silent };
const objects = {
  configMap: () => Promise.resolve({ data: { color: 'blue', size: '7' } }),
  secret: () => Promise.resolve({ data: { password: 'c2VjcmV0' } }),
  token: () => Promise.resolve('token'),
} as unknown as ApiObjects;

/** A manager of volumes as an agent has it, with objects of a server. */
export function managerOn(rootDir: string): VolumeManager {
  const now = () => Date.UTC(2030, 0, 2);
  const clock = { now, setTimeout, clearTimeout: (timer: TimerHandle) => clearTimeout(timer) };
  const recorder = { event: silent, nodeEvent: silent };
  return new VolumeManager(
    { clock, random: () => 0, logger, recorder },
    {
      rootDir,
      allocatable: { memory: '1Gi' },
      clusterDomain: 'cluster.local',
      contents: objectContents(objects),
    },
  );
}

/** All that an agent does with the volumes of a pod before its containers run. */
export async function mountAll(manager: VolumeManager, pod: Pod): Promise<readonly string[]> {
  await manager.mountPod(pod, new AbortController().signal);
  const [container] = pod.spec.containers;
  if (container === undefined) return [];
  const addresses = { podIPs: ['10.1.0.5'], hostIPs: ['10.0.0.1'] };
  const request = { pod, container, env: new Map(), addresses, hostname: 'web' };
  return (await manager.containerMounts(request)).map(({ hostPath }) => hostPath);
}

export async function removeAll(manager: VolumeManager, { metadata }: Pod): Promise<void> {
  await manager.releaseVolumes(metadata.uid);
  await manager.unmountPod(metadata.uid);
}

async function run(task: VolumeTask): Promise<void> {
  if (task.task === 'write') {
    await writePayload(task.volume, payloadOf(task.files), { fsGroup: 34, logger }, Date.UTC(2030, 0, 2));
  } else if (task.task === 'mount') await mountAll(managerOn(task.rootDir), task.pod);
  else await removeAll(managerOn(task.rootDir), task.pod);
}

const { VOLUME_TASK: own } = process.env;
if (own !== undefined) await run(JSON.parse(own) as VolumeTask);
