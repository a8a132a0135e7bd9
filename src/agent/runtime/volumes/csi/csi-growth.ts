/** Expands volumes of CSI drivers on this node (`NodeExpandVolume`), and writes the result into the claim's status. */
import { isUncertain, type CsiSource, volumeCapability } from '../../../policies/volumes/csi-source.ts';
import {
  growthBegun,
  growthDone,
  growthFailed,
  sizeToGrowTo,
} from '../../../policies/volumes/claim-growth.ts';
import { claimNameOf } from '../../../policies/volumes/claimed-volume.ts';
import { quantityOrZero, quantityValue } from '../../../policies/formats/quantity.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { ApiObjects, StorageObjects } from '../../../../types/api-objects.ts';
import { errorKind, errorMessage } from '../../../../types/errors.ts';
import type { PersistentVolumeClaim } from '../../../../types/kubernetes.ts';
import { podFields } from '../../../../types/logger.ts';
import type { PodVolume } from '../kinds/volume-kind.ts';
import { csiSecrets } from './csi-credentials.ts';
import type { CsiDriver } from './csi-driver.ts';
import type { CsiDriverRegistry } from './csi-driver-registry.ts';

export interface CsiGrowthParts {
  readonly nodeName: string;
  readonly drivers: CsiDriverRegistry;
  readonly objects: Pick<ApiObjects, 'persistentVolumeClaim' | 'persistentVolume'>;
  readonly storage: Pick<StorageObjects, 'patchClaimStatus' | 'volumeSecret'>;
}

export interface GrowingVolume extends Pick<PodVolume, 'pod' | 'volume'> {
  readonly source: CsiSource;
  /** The name of the PersistentVolume. */
  readonly name: string;
  readonly stagingPath: string;
  readonly targetPath: string;
}

export class CsiGrowth {
  readonly #context: AgentContext;
  readonly #parts: CsiGrowthParts;
  /** Sizes to which a driver cannot expand a volume that is in use, by the path of the volume. */
  readonly #refused = new Map<string, string>();

  constructor(context: AgentContext, parts: CsiGrowthParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Resolves to whether the driver can expand volumes. Never rejects: a pod can use a volume that was not expanded. */
  async follow(volume: GrowingVolume): Promise<boolean> {
    const { pod, name, source } = volume;
    try {
      const driver = this.#parts.drivers.get(source.driver, 'Expander.NodeExpand failed to get CSI client');
      if (!(await driver.capabilities()).has('EXPAND_VOLUME')) return false;
      await this.#follow(volume, driver);
    } catch (error) {
      const message = `cannot see whether volume ${name} has grown: ${errorMessage(error)}`;
      this.#context.logger.debug(podFields(pod.metadata), message);
    }
    return true;
  }

  /** The volume is not published in the pod any more. */
  forget(targetPath: string): void {
    this.#refused.delete(targetPath);
  }

  async #follow(volume: GrowingVolume, driver: CsiDriver): Promise<void> {
    const { pod, name, targetPath } = volume;
    const { objects } = this.#parts;
    const { namespace } = pod.metadata;
    const claim = await objects.persistentVolumeClaim(namespace, claimNameOf(pod, volume.volume) ?? '');
    // Most claims are not being expanded: their PersistentVolumes are not read.
    if (claim?.status?.allocatedResourceStatuses?.storage === undefined) return;
    const persistentVolume = await objects.persistentVolume(name);
    const size = persistentVolume && sizeToGrowTo(claim, persistentVolume);
    if (size === undefined || this.#refused.get(targetPath) === size) return;
    await this.#grow(volume, driver, claim, size);
  }

  async #grow(
    volume: GrowingVolume,
    driver: CsiDriver,
    before: PersistentVolumeClaim,
    size: string,
  ): Promise<void> {
    const { pod, name, source, stagingPath, targetPath } = volume;
    const { storage, nodeName } = this.#parts;
    const { recorder, clock } = this.#context;
    const begun = growthBegun(before);
    const claim = begun ? await storage.patchClaimStatus(before, begun) : before;
    try {
      await driver.expand({
        volumeId: source.handle,
        volumePath: targetPath,
        range: { requiredBytes: Number(quantityValue(quantityOrZero(size))) },
        stagingPath,
        capability: volumeCapability(source, await driver.capabilities()),
        secrets: await csiSecrets(storage, 'NodeExpandSecretRef', source.expandSecret),
      });
    } catch (error) {
      const kind = errorKind(error);
      const message = `Expander.NodeExpand failed to expand the volume : ${errorMessage(error)}`;
      recorder.event(
        pod.metadata,
        'Warning',
        'VolumeResizeFailed',
        `NodeExpandVolume failed for volume "${name}" : ${message}`,
      );
      if (kind === 'FailedPrecondition') this.#refused.set(targetPath, size);
      if (!isUncertain(kind))
        await storage.patchClaimStatus(claim, growthFailed(claim, { kind, message, nowMs: clock.now() }));
      return;
    }
    const done = `MountVolume.NodeExpandVolume succeeded for volume "${name}" ${nodeName}`;
    recorder.event(pod.metadata, 'Normal', 'FileSystemResizeSuccessful', done);
    await storage.patchClaimStatus(claim, growthDone(claim, size));
  }
}
