/** Attaches and stages volumes of CSI drivers, below `plugins/kubernetes.io/csi`, for the charts of volumes. */
import { dirname, join } from 'node:path';
import { unlessAborted } from '../../../../system/promises.ts';
import { sleep } from '../../../../system/timer.ts';
import {
  type AttachReport,
  type AttachReports,
  isAttached,
} from '../../../policies/volumes/csi-attachment.ts';
import {
  type CsiSource,
  isStaged,
  uniqueVolumeName,
  volumeCapability,
} from '../../../policies/volumes/csi-source.ts';
import { qualifiedPlugin } from '../../../policies/volumes/volume-source.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { StorageObjects } from '../../../../types/api-objects.ts';
import type { VolumeOperation } from '../../../../types/measurements.ts';
import type { VolumeDisk } from '../volume-disk.ts';
import { blockPaths, csiFolder, removeBlockFolders } from './csi-block.ts';
import { csiSecrets } from './csi-credentials.ts';
import type { CsiDriverRegistry } from './csi-driver-registry.ts';
import { findCsiVolumes, type FoundCsiVolumes, STAGED } from './csi-found.ts';
import { dropUnlessUncertain, refuseMounted, removeMountPoint } from './csi-mount-point.ts';
import { attachmentName, sha256 } from './csi-names.ts';
import { type CsiVolumeKey, readVolData, writeVolData } from './vol-data.ts';

type Texts = Readonly<Record<string, string>>;

export interface CsiStagedVolumesParts {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly storage: Pick<StorageObjects, 'volumeAttachment' | 'volumeSecret'>;
  readonly drivers: CsiDriverRegistry;
  readonly disk: VolumeDisk;
}

const ATTACH_PAUSE_FIRST_MS = 500;
const ATTACH_PAUSE_MOST_MS = 7_000;

interface VolumeToStage {
  readonly source: CsiSource;
  /** The publish context of the VolumeAttachment. */
  readonly publishContext: Texts;
  /** The fsGroup of the pod that wants it. */
  readonly group: number | undefined;
}

export class CsiStagedVolumes {
  readonly #context: AgentContext;
  readonly #parts: CsiStagedVolumesParts;
  readonly #stagingDir: string;

  constructor(context: AgentContext, parts: CsiStagedVolumesParts) {
    this.#context = context;
    this.#parts = parts;
    this.#stagingDir = csiFolder(parts.rootDir);
  }

  /** Resolves to the attachment's publish context when the volume is attached. */
  attached(source: CsiSource, reports: AttachReports, signal: AbortSignal): Promise<Texts> {
    return this.#measured('verify_controller_attached_volume', source.driver, () =>
      this.#attached(source, reports, signal),
    );
  }

  async #attached(source: CsiSource, reports: AttachReports, signal: AbortSignal): Promise<Texts> {
    const volume = uniqueVolumeName(source);
    const isUsable = ({ isInUse, isAttached }: AttachReport) => isInUse && isAttached;
    const name = attachmentName(source, this.#parts.nodeName);
    for (let pauseMs = ATTACH_PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, ATTACH_PAUSE_MOST_MS)) {
      const seen = reports.seen(volume);
      const isReported = isUsable(seen) && isUsable(await unlessAborted(reports.asked(volume), signal));
      const attachment = seen.isInUse ? await this.#parts.storage.volumeAttachment(name) : undefined;
      if (attachment !== undefined && isAttached(attachment) && isReported)
        return attachment.status?.attachmentMetadata ?? {};
      await sleep(this.#context.clock, pauseMs, signal);
    }
  }

  /** Stages the volume, if its driver stages volumes. */
  async stage({ source, publishContext, group }: VolumeToStage, signal: AbortSignal): Promise<void> {
    const { drivers, storage, disk } = this.#parts;
    const driver = drivers.get(source.driver, 'attacher.MountDevice failed to create newCsiDriverClient');
    const capabilities = await driver.capabilities();
    if (!isStaged(source, capabilities)) return;
    const stagingPath = this.path(source);
    const secrets = await csiSecrets(storage, 'NodeStageSecretRef', source.stageSecret);
    const data = { volumeHandle: source.handle, driverName: source.driver };
    const dataDir = this.#dataDir(source);
    await disk.makeMountPoint(dataDir);
    await disk.makeMountPoint(stagingPath);
    await writeVolData(disk, dataDir, data);
    const request = {
      volumeId: source.handle,
      publishContext,
      stagingPath,
      capability: volumeCapability(source, capabilities, group),
      secrets,
      volumeContext: source.attributes,
    };
    try {
      await driver.stage(request, signal);
    } catch (error) {
      if (source.blockName === undefined) await dropUnlessUncertain(disk, stagingPath, error, signal);
      throw error;
    }
  }

  /** Calls no driver for a volume that was not staged. */
  unstage(volume: CsiVolumeKey, signal: AbortSignal): Promise<void> {
    const operation = volume.blockName === undefined ? 'unmount_device' : 'unmap_device';
    return this.#measured(operation, volume.driver, () => this.#unstage(volume, signal));
  }

  async #unstage(volume: CsiVolumeKey, signal: AbortSignal): Promise<void> {
    const { driver: driverName, handle, blockName } = volume;
    const { disk } = this.#parts;
    const stagingPath = this.path(volume);
    if ((await readVolData(disk, this.#dataDir(volume))) !== undefined) {
      const step = 'attacher.UnmountDevice failed to create newCsiDriverClient';
      const driver = this.#parts.drivers.get(driverName, step);
      // A later version of the driver may stage nothing any more.
      if ((await driver.capabilities()).has('STAGE_UNSTAGE_VOLUME'))
        await driver.unstage(handle, stagingPath, signal);
    }
    await refuseMounted(disk, stagingPath, `volume ${handle} of CSI driver ${driverName} is not staged`);
    if (blockName === undefined) await removeMountPoint(disk, stagingPath);
    else await removeBlockFolders(disk, this.block(blockName));
  }

  async #measured<T>(operation: VolumeOperation, driver: string, work: () => Promise<T>): Promise<T> {
    const end = this.#context.measurements?.volumeOperation(operation, qualifiedPlugin('csi', driver));
    try {
      const result = await work();
      end?.('success');
      return result;
    } catch (error) {
      end?.('failure');
      throw error;
    }
  }

  /** Where the driver stages the volume. */
  path({ driver, handle, blockName }: CsiVolumeKey): string {
    if (blockName !== undefined) return this.block(blockName).stagingPath;
    return join(this.#stagingDir, driver, sha256(handle), STAGED);
  }

  /** The folders of a block device. */
  block(name: string): ReturnType<typeof blockPaths> {
    return blockPaths(this.#stagingDir, name);
  }

  /** With `vol_data.json`. */
  #dataDir(volume: CsiVolumeKey): string {
    const { blockName } = volume;
    return blockName === undefined ? dirname(this.path(volume)) : this.block(blockName).dataDir;
  }

  /** What earlier agents have left, in the folders of pods as well. */
  found(): Promise<FoundCsiVolumes> {
    const { rootDir, disk } = this.#parts;
    return findCsiVolumes(disk, { rootDir, stagingDir: this.#stagingDir }, this.#context.logger);
  }
}
