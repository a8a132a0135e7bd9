/** A process of its own that works on volumes, so that it can be killed. Its argument is a `VolumeTask` as JSON. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { VolumeFile } from '../../../../src/agent/policies/volumes/projected-files.ts';
import { writePayload } from '../../../../src/agent/runtime/volumes/kinds/atomic-writer.ts';
import { objectContents } from '../../../../src/agent/runtime/volumes/kinds/volume-contents.ts';
import { CsiVolumes } from '../../../../src/agent/actors/volumes/csi-volumes.ts';
import { ClaimedVolumes } from '../../../../src/agent/runtime/volumes/claimed-volumes.ts';
import { CsiDriver } from '../../../../src/agent/runtime/volumes/csi/csi-driver.ts';
import { CsiNode } from '../../../../src/agent/runtime/volumes/csi/csi-node.ts';
import {
  VolumeManager,
  type VolumeManagerParts,
} from '../../../../src/agent/runtime/volumes/volume-manager.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { claim, persistentVolume } from '../../policies/volumes/claims/claims.ts';
import type { ApiObjects, StorageObjects } from '../../../../src/types/api-objects.ts';
import type { TimerHandle } from '../../../../src/types/clock.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import type { CSIDriver, PersistentVolumeClaim, Pod } from '../../../../src/types/kubernetes.ts';
import { systemClock } from '../../../../src/system/timer.ts';

export type VolumeTask =
  | { readonly task: 'write'; readonly volume: string; readonly files: Readonly<Record<string, string>> }
  | {
      readonly task: 'mount' | 'remove';
      readonly rootDir: string;
      readonly pod: Pod;
      /** The socket of the driver of the pod's CSI volumes. */
      readonly csiSocket?: string;
      /** Its claim leads to a block device. */
      readonly isBlock?: boolean;
    };

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

const now = () => Date.UTC(2030, 0, 2);
const clock = { now, setTimeout, clearTimeout: (timer: TimerHandle) => clearTimeout(timer) };
const context: AgentContext = {
  clock,
  random: () => 0,
  logger,
  recorder: { event: silent, nodeEvent: silent },
};

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

export const CSI_DRIVER = 'disk.csi.test';

interface OwnCsi extends Partial<Pick<AgentContext, 'recorder'>>, Partial<Pick<ApiObjects, 'token'>> {
  readonly claim?: PersistentVolumeClaim;
  /** Of the PersistentVolume. */
  readonly capacity?: Record<string, string>;
  readonly isBlock?: boolean | undefined;
  readonly accessModes?: string[];
  readonly filesLabel?: string | undefined;
  readonly patchClaimStatus?: StorageObjects['patchClaimStatus'];
  /** Of the CSIDriver object. */
  readonly spec?: Partial<CSIDriver['spec']>;
}

/** The same with a CSI driver, whose volume `disk-1` each claim leads to. All pods are known. */
export function csiManagerOn(rootDir: string, csiSocket: string, own: OwnCsi = {}) {
  const { recorder = context.recorder, token = () => Promise.resolve('token'), spec } = own;
  const ownContext = { ...context, recorder };
  const source = { driver: CSI_DRIVER, volumeHandle: 'disk-1' };
  const volumeObjects = {
    persistentVolumeClaim: () => Promise.resolve(own.claim ?? claim()),
    persistentVolume: () => {
      const volumeMode = own.isBlock === true ? 'Block' : 'Filesystem';
      const { capacity = {}, accessModes = ['ReadWriteOnce'] } = own;
      return Promise.resolve(persistentVolume({ csi: source, volumeMode, capacity, accessModes }));
    },
  };
  const csi = new CsiNode(ownContext, {
    rootDir,
    nodeName: 'node-1',
    filesLabel: own.filesLabel,
    objects: { token, ...volumeObjects },
    storage: {
      csiDriver: () => {
        const volumeLifecycleModes = ['Persistent', 'Ephemeral'];
        return Promise.resolve({ spec: { attachRequired: false, volumeLifecycleModes, ...spec } });
      },
      volumeAttachment: () => Promise.resolve(undefined),
      volumeSecret: () => Promise.resolve(undefined),
      patchClaimStatus: own.patchClaimStatus ?? ((found) => Promise.resolve(found)),
    },
  });
  csi.drivers.register(
    new CsiDriver({ clock: systemClock }, { name: CSI_DRIVER, endpoint: csiSocket, version: '1.0.0' }),
  );
  const volumes = new CsiVolumes(ownContext, {
    csi,
    attachReports: {
      seen: () => ({ isInUse: true, isAttached: true }),
      asked: () => Promise.resolve({ isInUse: true, isAttached: true }),
    },
    onChange: silent,
  });
  volumes.podsKnown();
  const claims = new ClaimedVolumes({
    objects: volumeObjects,
    nodeLabels: () => ({}),
  });
  return { manager: managerOn(rootDir, { csi, claims }, ownContext), csi, close: () => volumes.stop() };
}

/** Resolves when the driver has nothing staged, and nothing is left of what was. */
export async function unstaged(rootDir: string): Promise<void> {
  const folder = join(rootDir, 'plugins/kubernetes.io/csi');
  const names = (path: string) => (existsSync(path) ? readdirSync(path) : []);
  const blocks = (path: string) => names(path).filter((name) => name !== 'staging' && name !== 'publish');
  const isLeft = () =>
    [...names(join(folder, CSI_DRIVER)), ...blocks(join(folder, 'volumeDevices'))].length > 0;
  await waitFor(() => !isLeft(), { what: 'the volume to be unstaged' });
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

async function run(task: VolumeTask): Promise<void> {
  if (task.task === 'write') {
    await writePayload(task.volume, payloadOf(task.files), { fsGroup: 34, logger }, Date.UTC(2030, 0, 2));
    return;
  }
  const { rootDir, pod, csiSocket, isBlock } = task;
  const own = csiSocket === undefined ? undefined : csiManagerOn(rootDir, csiSocket, { isBlock });
  const manager = own?.manager ?? managerOn(rootDir);
  if (task.task === 'mount') await mountAll(manager, pod);
  else {
    await removeAll(manager, pod);
    if (own) await unstaged(rootDir);
  }
  own?.close();
}

const { VOLUME_TASK: own } = process.env;
if (own !== undefined) await run(JSON.parse(own) as VolumeTask);
