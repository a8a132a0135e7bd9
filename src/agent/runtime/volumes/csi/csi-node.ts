/** Has CSI drivers publish volumes in the folders of pods. */
import { dirname, join } from 'node:path';
import { Subject } from 'rxjs';
import { allOrFirstFailure } from '../../../../system/promises.ts';
import type { PodWait, VolumeWait } from '../../../policies/pod/pod-wait.ts';
import { failedStep } from '../../../policies/volumes/claimed-volume.ts';
import { exceedsLimit } from '../../../policies/volumes/csi-attachment.ts';
import {
  type CsiSource,
  csiVolumeName,
  givesFilesToGroup,
  inlineCsiSource,
  isAttachRequired,
  isStaged,
  lifecycleProblem,
  podContext,
  uniqueVolumeName,
  volumeCapability,
} from '../../../policies/volumes/csi-source.ts';
import { mountLabel, withLabel } from '../../../policies/volumes/selinux-label.ts';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import { pluginFolder } from '../../../policies/volumes/volume-source.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { ApiObjects, StorageObjects } from '../../../../types/api-objects.ts';
import { StateletError } from '../../../../types/errors.ts';
import type { CSIDriver, Pod } from '../../../../types/kubernetes.ts';
import type { PodWaits } from '../../node/pod-waits.ts';
import { NotedWaits } from '../../node/noted-waits.ts';
import type { CsiMounts, PodVolume, VolumeSetUp } from '../kinds/volume-kind.ts';
import { giveVolumeToGroup } from '../kinds/volume-group.ts';
import { machineDisk, type VolumeDisk } from '../volume-disk.ts';
import type { DevicePaths, PodPaths } from '../pod-paths.ts';
import { subfolders } from './csi-found.ts';
import { csiSecrets, csiTokens } from './csi-credentials.ts';
import { CsiDriverRegistry } from './csi-driver-registry.ts';
import { dropUnlessUncertain, refuseMounted, removeMountPoint } from './csi-mount-point.ts';
import { attachmentName, inlineHandle } from './csi-names.ts';
import { CsiStagedVolumes } from './csi-staged-volumes.ts';
import { CsiGrowth } from './csi-growth.ts';
import { CsiStats } from './csi-stats.ts';
import { readVolData, type VolData, volumeOf, writeVolData } from './vol-data.ts';

type Texts = Readonly<Record<string, string>>;

export interface CsiNodeParts {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly objects: Pick<ApiObjects, 'token' | 'persistentVolumeClaim' | 'persistentVolume'>;
  readonly storage: StorageObjects;
  /** Default: that of the machine. */
  readonly disk?: VolumeDisk;
  /** The label that files of containers have on this machine; undefined where SELinux is off. */
  readonly filesLabel?: string | undefined;
}

/** Keeps volumes staged as long as pods use them. */
export interface CsiStaging {
  /** Resolves to the attachment's publish context, once the volume is staged for this pod. */
  use(
    wish: {
      readonly pod: string;
      readonly source: CsiSource;
      readonly isAttachable: boolean;
      readonly group: number | undefined;
    },
    signal: AbortSignal,
  ): Promise<Texts>;
  /** Only the volumes of these names are still published in the pod. */
  leave(podUID: string, kept: ReadonlySet<string>): Promise<void>;
  waitOf(podUID: string): VolumeWait | undefined;
  /** The volumes that the pod waits for. */
  awaited(podUID: string): readonly CsiSource[];
}

/** A volume that is to be published into a pod. */
interface PodCsiVolume extends Pick<PodVolume, 'pod' | 'paths'> {
  readonly source: CsiSource;
  /** Of its folder. */
  readonly name: string;
  /** The pod has it already. */
  readonly isPublished: boolean;
}

export class CsiNode implements CsiMounts, PodWaits {
  readonly drivers = new CsiDriverRegistry();
  readonly staged: CsiStagedVolumes;
  readonly stats: CsiStats;
  /** UIDs of pods; the charts of volumes report here as well. */
  readonly waitChanges = new Subject<readonly string[]>();
  /**
   * Called when the node can have no more volumes of the driver: asks the driver for the limit again, so that the scheduler knows
   * it.
   */
  onLimit: (driver: string) => Promise<void> = () => Promise.resolve();
  readonly #waits: NotedWaits;
  readonly #growth: CsiGrowth;
  readonly #context: AgentContext;
  readonly #parts: CsiNodeParts;
  readonly #disk: VolumeDisk;
  #staging: CsiStaging | undefined;

  constructor(context: AgentContext, parts: CsiNodeParts) {
    this.#context = context;
    this.#parts = parts;
    this.#disk = parts.disk ?? machineDisk;
    this.#waits = new NotedWaits(context.clock, this.waitChanges);
    this.#growth = new CsiGrowth(context, { ...parts, drivers: this.drivers });
    this.stats = new CsiStats(context.clock, this.drivers);
    this.staged = new CsiStagedVolumes(context, { ...parts, drivers: this.drivers, disk: this.#disk });
  }

  /** Before the first pod is started. */
  set staging(staging: CsiStaging) {
    this.#staging = staging;
  }

  csiDriver(name: string): Promise<CSIDriver | undefined> {
    return this.#parts.storage.csiDriver(name);
  }

  /** The step of one of its volumes that the pod waits for. */
  waitOf(podUID: string): PodWait | undefined {
    return this.#staging?.waitOf(podUID) ?? this.#waits.waitOf(podUID);
  }

  async mount(request: Omit<VolumeSetUp, 'node'>, signal: AbortSignal): Promise<void> {
    const { pod, paths, volume: own, claimed, state } = request;
    // Set until the driver's object says that it needs no republishing.
    state.isKeptFresh = true;
    const source = sourceOf(pod, own, claimed);
    const name = csiVolumeName({ claimed, volume: own });
    const object = await this.csiDriver(source.driver);
    const { filesLabel } = this.#parts;
    const label = mountLabel({ pod, volume: own.name, source, object, filesLabel });
    state.isLabelled = label !== undefined;
    const labelled = withLabel(source, label);
    const volume = { pod, paths, source: labelled, name, isPublished: state.readyAs !== undefined };
    const problem = lifecycleProblem(source, object);
    if (problem !== undefined) throw new StateletError('FailedPrecondition', problem);
    const isRepublished = object?.spec.requiresRepublish === true;
    if (!volume.isPublished || isRepublished) await this.#stageAndPublish(volume, object, signal);
    const mayGrow =
      !source.isEphemeral &&
      (await this.#growth.follow({
        ...volume,
        source,
        volume: own,
        stagingPath: this.staged.path(source),
        targetPath: this.#targetOf(volume).path,
      }));
    state.isKeptFresh = isRepublished || mayGrow;
  }

  async #stageAndPublish(
    volume: PodCsiVolume,
    object: CSIDriver | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { pod, source, name } = volume;
    let publishContext: Texts = {};
    try {
      const wish = {
        pod: pod.metadata.uid,
        source,
        isAttachable: isAttachRequired(source, object),
        group: podFsGroup(pod),
      };
      if (!source.isEphemeral) publishContext = (await this.#staging?.use(wish, signal)) ?? {};
    } catch (error) {
      signal.throwIfAborted();
      const isBlock = source.blockName !== undefined;
      throw failedStep(isBlock ? 'MapVolume.SetUpDevice' : 'MountVolume.MountDevice', name, error);
    }
    try {
      await this.#publish(volume, object, publishContext, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw source.blockName === undefined ? error : failedStep('MapVolume.MapPodDevice', name, error);
    }
  }

  async #publish(
    volume: PodCsiVolume,
    object: CSIDriver | undefined,
    publishContext: Texts,
    signal: AbortSignal,
  ): Promise<void> {
    const { source, pod, paths } = volume;
    const driver = this.drivers.get(source.driver, 'mounter.SetUpAt failed to get CSI client');
    const capabilities = await driver.capabilities();
    const target = this.#targetOf(volume);
    const { storage, objects } = this.#parts;
    const secrets = await csiSecrets(storage, 'NodePublishSecretRef', source.publishSecret);
    const tokens = await csiTokens(objects, pod, object);
    const request = {
      volumeId: source.handle,
      publishContext,
      stagingPath: isStaged(source, capabilities) ? this.staged.path(source) : '',
      targetPath: target.path,
      capability: volumeCapability(source, capabilities, podFsGroup(pod)),
      readonly: source.isReadOnly,
      secrets: object?.spec.serviceAccountTokenInSecrets === true ? { ...secrets, ...tokens } : secrets,
      volumeContext: {
        ...source.attributes,
        ...(object?.spec.podInfoOnMount === true && podContext(pod, source)),
        ...(object?.spec.serviceAccountTokenInSecrets !== true && tokens),
      },
    };
    signal.throwIfAborted();
    await this.#disk.makeMountPoint(target.dataDir);
    await writeVolData(this.#disk, target.dataDir, this.#volDataOf(volume));
    if (target.device) {
      await this.#disk.makeFolder(dirname(target.path));
      await this.#disk.linkDevice(target.device, target.path);
    }
    try {
      // Not aborted when the pod ends: the driver must have answered before it is asked to unpublish the volume.
      const published = driver.publish(request);
      const wait = { uid: pod.metadata.uid, volume: uniqueVolumeName(source), step: 'published' } as const;
      await (volume.isPublished ? published : this.#waits.during(wait, published));
    } catch (error) {
      if (!volume.isPublished && !target.device)
        await dropUnlessUncertain(this.#disk, request.targetPath, error);
      throw error;
    }
    if (target.device) await this.#disk.mapDevice(target.device, target.path);
    else if (givesFilesToGroup(source, capabilities, object?.spec.fsGroupPolicy))
      await giveVolumeToGroup(
        request.targetPath,
        { pod, folder: target.dataDir, paths },
        this.#context,
        signal,
      );
  }

  async beyondLimit(podUID: string): Promise<ReadonlySet<string> | undefined> {
    const { storage, nodeName } = this.#parts;
    const awaited = this.#staging?.awaited(podUID) ?? [];
    for (const source of awaited) {
      const object = await this.csiDriver(source.driver);
      if (!exceedsLimit(await storage.volumeAttachment(attachmentName(source, nodeName)), object)) continue;
      await this.onLimit(source.driver);
      return new Set(awaited.map(uniqueVolumeName));
    }
    return undefined;
  }

  async isMounted(volume: PodVolume): Promise<boolean> {
    const { paths, claimed } = volume;
    const name = csiVolumeName(volume);
    return (await this.#disk.mountedPaths()).has(
      claimed?.isBlock ? paths.device('csi', name).mount : paths.csiMount(name),
    );
  }

  async unmount(
    podUID: string,
    { volumesDir, devicesDir, device }: Pick<PodPaths, 'volumesDir' | 'devicesDir' | 'device'>,
  ): Promise<void> {
    const dir = join(volumesDir, pluginFolder('csi'));
    const linksDir = join(devicesDir, pluginFolder('csi'));
    try {
      const names = await this.#disk.linkNames(linksDir);
      await allOrFirstFailure([
        ...(await subfolders(this.#disk, dir)).map((folder) => this.#unpublish(podUID, folder)),
        ...names.map((name) => this.#unpublishDevice(podUID, name, device('csi', name))),
      ]);
    } finally {
      await this.#leave(podUID, dir, linksDir);
    }
  }

  async #unpublishDevice(uid: string, name: string, device: DevicePaths): Promise<void> {
    const { dataDir, publishDir } = this.staged.block(name);
    const target = join(publishDir, uid);
    const data = await readVolData(this.#disk, dataDir);
    await this.#disk.unmapDevice(device);
    if (data !== undefined) await this.#askToUnpublish(uid, data, target);
    await this.#disk.unlinkDevice(device);
    this.#growth.forget(target);
  }

  /** Where the driver publishes the volume, and where that is recorded. */
  #targetOf({ source, paths, name, pod }: Pick<PodCsiVolume, 'source' | 'paths' | 'name' | 'pod'>) {
    if (source.blockName === undefined)
      return { path: paths.csiMount(name), dataDir: paths.volume('csi', name) };
    const { publishDir, dataDir } = this.staged.block(source.blockName);
    return { path: join(publishDir, pod.metadata.uid), dataDir, device: paths.device('csi', name) };
  }

  /** A driver that is not connected does not delay the volumes of other drivers. */
  async #leave(podUID: string, dir: string, linksDir: string): Promise<void> {
    const dataDirs = (await this.#disk.linkNames(linksDir)).map((name) => this.staged.block(name).dataDir);
    const left = await Promise.all(
      [...(await subfolders(this.#disk, dir)), ...dataDirs].map((folder) => readVolData(this.#disk, folder)),
    );
    const kept = left.flatMap((data) => (data ? uniqueVolumeName(volumeOf(data)) : []));
    // Without their `vol_data.json` it is not known which volumes these are.
    if (kept.length === left.length) await this.#staging?.leave(podUID, new Set(kept));
  }

  async #unpublish(uid: string, folder: string): Promise<void> {
    const data = await readVolData(this.#disk, folder);
    const target = join(folder, 'mount');
    if (data !== undefined) await this.#askToUnpublish(uid, data, target);
    await removeMountPoint(this.#disk, target);
    this.#growth.forget(target);
  }

  async #askToUnpublish(uid: string, data: VolData, target: string): Promise<void> {
    const { driverName, volumeHandle } = data;
    const driver = this.drivers.get(driverName, 'unmounter failed to get CSI client');
    const volume = uniqueVolumeName(volumeOf(data));
    const unpublished = driver.unpublish(volumeHandle, target);
    await this.#waits.during({ uid, volume, step: 'unpublished' }, unpublished);
    await refuseMounted(
      this.#disk,
      target,
      `CSI driver ${driverName} has unpublished volume ${volumeHandle}`,
    );
  }

  #volDataOf({ source, name }: PodCsiVolume): VolData {
    return {
      specVolID: name,
      volumeHandle: source.handle,
      driverName: source.driver,
      nodeName: this.#parts.nodeName,
      ...(!source.isEphemeral && { attachmentID: attachmentName(source, this.#parts.nodeName) }),
      volumeLifecycleMode: source.isEphemeral ? 'Ephemeral' : 'Persistent',
    };
  }
}

function sourceOf(pod: Pod, volume: PodVolume['volume'], claimed: PodVolume['claimed']): CsiSource {
  if (claimed?.source.kind === 'csi') return claimed.source;
  if (volume.csi === undefined)
    throw new StateletError('Internal', `the volume ${volume.name} is not a volume of a CSI driver`);
  return inlineCsiSource(pod, volume.csi, inlineHandle(pod, volume));
}
