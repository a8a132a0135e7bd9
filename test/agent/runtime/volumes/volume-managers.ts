import { objectContents } from '../../../../src/agent/runtime/volumes/kinds/volume-contents.ts';
import {
  VolumeManager,
  type VolumeManagerParts,
} from '../../../../src/agent/runtime/volumes/volume-manager.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import type { ApiObjects } from '../../../../src/types/api-objects.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { recorderOf, testContext } from '../../../support/test-context.ts';

const objects = {
  configMap: () => Promise.resolve({ data: { color: 'blue', size: '7' } }),
  secret: () => Promise.resolve({ data: { password: 'c2VjcmV0' } }),
  token: () => Promise.resolve('token'),
} as unknown as ApiObjects;

const now = () => Date.UTC(2030, 0, 2);
export const context: AgentContext = testContext({
  clock: { ...systemClock, now },
  recorder: recorderOf({}),
});

/** A manager of volumes as an agent has it, with objects of a server. */
export function managerOn(
  rootDir: string,
  parts: Pick<VolumeManagerParts, 'csi' | 'claims'> = {},
  own = context,
): VolumeManager {
  return new VolumeManager(own, {
    rootDir,
    allocatable: { memory: '1Gi' },
    clusterDomain: 'cluster.local',
    contents: objectContents(objects),
    givesDevices: true,
    ...parts,
  });
}

/** All that an agent does with the volumes of a pod before its containers run. */
export async function mountAll(manager: VolumeManager, pod: Pod): Promise<readonly string[]> {
  await manager.mountPod(pod, new AbortController().signal);
  const [container] = pod.spec.containers;
  if (container === undefined) return [];
  const addresses = { podIPs: ['10.1.0.5'], hostIPs: ['10.0.0.1'] };
  const request = { pod, container, env: new Map(), addresses, hostname: 'web' };
  const all = [...(await manager.mounts.of(request)), ...(await manager.mounts.devices(request))];
  return all.map(({ hostPath }) => hostPath);
}

export async function removeAll(manager: VolumeManager, { metadata }: Pod): Promise<void> {
  await manager.releaseVolumes(metadata.uid);
  await manager.unmountPod(metadata.uid);
}
