import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CsiVolumes } from '../../../../src/agent/actors/volumes/csi-volumes.ts';
import { ClaimedVolumes } from '../../../../src/agent/runtime/volumes/claimed-volumes.ts';
import { CsiDriver } from '../../../../src/agent/runtime/volumes/csi/csi-driver.ts';
import { CsiNode } from '../../../../src/agent/runtime/volumes/csi/csi-node.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import type { ApiObjects, StorageObjects } from '../../../../src/types/api-objects.ts';
import type { CSIDriver, PersistentVolumeClaim } from '../../../../src/types/kubernetes.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { claim, persistentVolume } from '../../policies/volumes/claims/claims.ts';
import { context, managerOn } from './volume-managers.ts';

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
    onChange: () => undefined,
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
