/** What CSI drivers do on this node: staged volumes below `plugins/kubernetes.io/csi`, published ones in the folders of pods. */
import { createHash } from 'node:crypto';
import { readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Subject } from 'rxjs';
import { errnoCode, ifThere } from '../../../../system/system-errors.ts';
import { allOrFirstFailure } from '../../../../system/promises.ts';
import { sleep } from '../../../../system/timer.ts';
import { shortLine } from '../../../policies/formats/terminal-text.ts';
import type { VolumeWait } from '../../../policies/pod/pod-wait.ts';
import { failedStep } from '../../../policies/volumes/claimed-volume.ts';
import {
  CSI_TOKENS_KEY,
  csiAccessMode,
  type CsiCapability,
  type CsiSource,
  csiVolumeName,
  givesFilesToGroup,
  inlineCsiSource,
  isAttachRequired,
  isUncertain,
  lifecycleProblem,
  podContext,
  type SecretReference,
} from '../../../policies/volumes/csi-source.ts';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import { pluginFolder } from '../../../policies/volumes/volume-source.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { ApiObjects, StorageObjects } from '../../../../types/api-objects.ts';
import { errorKind, errorMessage, StateletError } from '../../../../types/errors.ts';
import type { CSIDriver, Pod } from '../../../../types/kubernetes.ts';
import type { PodWaits } from '../../node/pod-waits.ts';
import type { CsiMounts, PodVolume } from '../kinds/volume-kind.ts';
import { makeMountPoint } from '../kinds/volume-folder.ts';
import { giveVolumeToGroup } from '../kinds/volume-group.ts';
import { mountedPaths } from '../mounter.ts';
import type { PodPaths } from '../pod-paths.ts';
import { foldersIn } from '../sub-path.ts';
import { type CsiDriver, WORDS_MAX_LENGTH } from './csi-driver.ts';
import type { VolumeCapability } from './csi-messages.ts';
import { readVolData, removeVolData, type VolData, writeVolData } from './vol-data.ts';

type Texts = Readonly<Record<string, string>>;

export interface CsiNodeParts {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly objects: Pick<ApiObjects, 'token'>;
  readonly storage: StorageObjects;
}

/** A volume of a driver, as it is staged once for all pods of the node. */
export interface CsiVolumeKey {
  readonly driver: string;
  readonly handle: string;
}

/** Keeps volumes staged as long as pods use them. */
export interface CsiStaging {
  /** Resolves to what the attachment says of the volume, once it is staged for this pod. */
  use(
    wish: { readonly pod: string; readonly source: CsiSource; readonly isAttachable: boolean },
    signal: AbortSignal,
  ): Promise<Texts>;
  /** Nothing is published into the pod any more. */
  leave(podUID: string): Promise<void>;
  waitOf(podUID: string): VolumeWait | undefined;
}

/** A volume that is to be published into a pod. */
interface PodCsiVolume extends Pick<PodVolume, 'pod' | 'paths'> {
  readonly source: CsiSource;
  /** Of its folder. */
  readonly name: string;
}

/** What an earlier agent has left: what is there must be known before the first volume is unstaged. */
export interface FoundCsiVolumes {
  readonly published: readonly (CsiVolumeKey & { readonly podUID: string })[];
  readonly staged: readonly CsiVolumeKey[];
}

const ATTACH_PAUSE_FIRST_MS = 500;
const ATTACH_PAUSE_MOST_MS = 7_000;
const TOKEN_SECONDS = 3_600;

export class CsiNode implements CsiMounts, PodWaits {
  /** Told by its volumes. */
  readonly waitChanges = new Subject<readonly string[]>();
  readonly #context: AgentContext;
  readonly #parts: CsiNodeParts;
  readonly #stagingDir: string;
  readonly #drivers = new Map<string, CsiDriver>();
  #staging: CsiStaging | undefined;

  constructor(context: AgentContext, parts: CsiNodeParts) {
    this.#context = context;
    this.#parts = parts;
    this.#stagingDir = join(parts.rootDir, 'plugins', 'kubernetes.io', 'csi');
  }

  /** Before the first pod is started. */
  set staging(staging: CsiStaging) {
    this.#staging = staging;
  }

  /** The driver of a name; a former one is closed. */
  register(driver: CsiDriver): void {
    this.#drivers.get(driver.name)?.close();
    this.#drivers.set(driver.name, driver);
  }

  unregister(driver: CsiDriver): void {
    driver.close();
    if (this.#drivers.get(driver.name) === driver) this.#drivers.delete(driver.name);
  }

  /** Of the driver of that name; undefined where none is registered. */
  versionOf(name: string): string | undefined {
    return this.#drivers.get(name)?.version;
  }

  /** The step of one of its volumes that the pod waits for. */
  waitOf(podUID: string): VolumeWait | undefined {
    return this.#staging?.waitOf(podUID);
  }

  close(): void {
    for (const driver of this.#drivers.values()) driver.close();
  }

  async mount({ pod, paths, volume: own, claimed }: PodVolume, signal: AbortSignal): Promise<void> {
    const source = sourceOf(pod, own, claimed);
    const name = csiVolumeName({ claimed, volume: own });
    const volume = { pod, paths, source, name };
    const object = await this.#parts.storage.csiDriver(source.driver);
    const problem = lifecycleProblem(source, object);
    if (problem !== undefined) throw new StateletError('FailedPrecondition', problem);
    let publishContext: Texts = {};
    try {
      const wish = { pod: pod.metadata.uid, source, isAttachable: isAttachRequired(source, object) };
      if (!source.isEphemeral) publishContext = (await this.#staging?.use(wish, signal)) ?? {};
    } catch (error) {
      signal.throwIfAborted();
      throw failedStep('MountVolume.MountDevice', name, error);
    }
    await this.#publish(volume, object, publishContext, signal);
  }

  async #publish(
    volume: PodCsiVolume,
    object: CSIDriver | undefined,
    publishContext: Texts,
    signal: AbortSignal,
  ): Promise<void> {
    const { source, pod, paths, name } = volume;
    const driver = this.#driver(source.driver, 'mounter.SetUpAt failed to get CSI client');
    const capabilities = await driver.capabilities();
    const folder = paths.volume('csi', name);
    const secrets = await this.#secrets('NodePublishSecretRef', source.publishSecret);
    const tokens = await this.#tokens(pod, object);
    const request = {
      volumeId: source.handle,
      publishContext,
      stagingPath: this.#isStaged(source, capabilities) ? this.stagingPath(source) : '',
      targetPath: paths.csiMount(name),
      capability: capabilityOf(source, capabilities, pod),
      readonly: source.isReadOnly,
      secrets: object?.spec.serviceAccountTokenInSecrets === true ? { ...secrets, ...tokens } : secrets,
      volumeContext: {
        ...source.attributes,
        ...(object?.spec.podInfoOnMount === true && podContext(pod, source)),
        ...(object?.spec.serviceAccountTokenInSecrets !== true && tokens),
      },
    };
    await makeMountPoint(folder);
    await writeVolData(folder, this.#volDataOf(volume));
    try {
      await driver.publish(request, signal);
    } catch (error) {
      await dropUnlessUncertain(request.targetPath, error, signal);
      throw error;
    }
    if (givesFilesToGroup(source, capabilities, object?.spec.fsGroupPolicy))
      await giveVolumeToGroup(request.targetPath, { pod, folder, paths }, this.#context, signal);
  }

  async isMounted(volume: PodVolume): Promise<boolean> {
    return (await mountedPaths()).has(volume.paths.csiMount(csiVolumeName(volume)));
  }

  async unmount(podUID: string, { volumesDir }: Pick<PodPaths, 'volumesDir'>): Promise<void> {
    const folders = await foldersIn(join(volumesDir, pluginFolder('csi')));
    await allOrFirstFailure(folders.map((folder) => this.#unpublish(folder)));
    await this.#staging?.leave(podUID);
  }

  async #unpublish(folder: string): Promise<void> {
    const data = await readVolData(folder);
    const target = join(folder, 'mount');
    if (data !== undefined) {
      const { driverName, volumeHandle } = data;
      await this.#driver(driverName, 'unmounter failed to get CSI client').unpublish(volumeHandle, target);
      await refuseMounted(target, `CSI driver ${driverName} has unpublished volume ${volumeHandle}`);
    }
    await removeTarget(target);
  }

  // Asked by the charts of volumes.

  /** Resolves to what the attachment says of the volume, when it is attached. `isInUse`: the node object says that it is in use. */
  async attached(source: CsiSource, isInUse: () => boolean, signal: AbortSignal): Promise<Texts> {
    const name = this.#attachmentName(source);
    for (let pauseMs = ATTACH_PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, ATTACH_PAUSE_MOST_MS)) {
      const { status } = (isInUse() ? await this.#parts.storage.volumeAttachment(name) : undefined) ?? {};
      if (status?.attached === true) return status.attachmentMetadata ?? {};
      if (status?.attachError !== undefined) {
        const { message = 'the volume could not be attached' } = status.attachError;
        throw new StateletError('FailedPrecondition', shortLine(message, WORDS_MAX_LENGTH));
      }
      await sleep(this.#context.clock, pauseMs, signal);
    }
  }

  /** Stages the volume where its driver wants that. Without it, what follows is the same. */
  async stage(source: CsiSource, publishContext: Texts, signal: AbortSignal): Promise<void> {
    const driver = this.#driver(source.driver, 'attacher.MountDevice failed to create newCsiDriverClient');
    const capabilities = await driver.capabilities();
    if (!this.#isStaged(source, capabilities)) return;
    const stagingPath = this.stagingPath(source);
    const secrets = await this.#secrets('NodeStageSecretRef', source.stageSecret);
    await makeMountPoint(stagingPath);
    const data = { volumeHandle: source.handle, driverName: source.driver };
    await writeVolData(dirname(stagingPath), data);
    const request = {
      volumeId: source.handle,
      publishContext,
      stagingPath,
      capability: capabilityOf(source, capabilities),
      secrets,
      volumeContext: source.attributes,
    };
    try {
      await driver.stage(request, signal);
    } catch (error) {
      await dropUnlessUncertain(stagingPath, error, signal);
      throw error;
    }
  }

  /** Nothing is asked for a volume that was not staged. */
  async unstage({ driver: driverName, handle }: CsiVolumeKey, signal: AbortSignal): Promise<void> {
    const stagingPath = this.stagingPath({ driver: driverName, handle });
    const folder = dirname(stagingPath);
    if ((await readVolData(folder)) === undefined) return;
    const driver = this.#driver(driverName, 'attacher.UnmountDevice failed to create newCsiDriverClient');
    await driver.unstage(handle, stagingPath, signal);
    await refuseMounted(stagingPath, `CSI driver ${driverName} has unstaged volume ${handle}`);
    await removeTarget(stagingPath);
  }

  /** Where the driver stages the volume. */
  stagingPath({ driver, handle }: CsiVolumeKey): string {
    return join(this.#stagingDir, driver, sha256(handle), 'globalmount');
  }

  /** What earlier agents have left. A broken record is told, and what it is about stays. */
  async found(): Promise<FoundCsiVolumes> {
    const staged: CsiVolumeKey[] = [];
    const published: FoundCsiVolumes['published'][number][] = [];
    for (const ofDriver of await foldersIn(this.#stagingDir)) {
      for (const folder of await foldersIn(ofDriver)) {
        const data = await this.#readable(folder);
        if (data) staged.push({ driver: data.driverName, handle: data.volumeHandle });
      }
    }
    const podsDir = join(this.#parts.rootDir, 'pods');
    for (const podUID of (await ifThere(readdir(podsDir))) ?? []) {
      for (const folder of await foldersIn(join(podsDir, podUID, 'volumes', pluginFolder('csi')))) {
        const data = await this.#readable(folder);
        if (data && data.volumeLifecycleMode !== 'Ephemeral')
          published.push({ driver: data.driverName, handle: data.volumeHandle, podUID });
      }
    }
    return { published, staged };
  }

  async #readable(folder: string): Promise<VolData | undefined> {
    return readVolData(folder).catch((error: unknown) => {
      this.#context.logger.warn({}, errorMessage(error));
      return undefined;
    });
  }

  #isStaged({ isEphemeral }: CsiSource, capabilities: ReadonlySet<CsiCapability>): boolean {
    return !isEphemeral && capabilities.has('STAGE_UNSTAGE_VOLUME');
  }

  #driver(name: string, step: string): CsiDriver {
    const driver = this.#drivers.get(name);
    if (driver !== undefined) return driver;
    const message = `kubernetes.io/csi: ${step}: driver name ${name} not found in the list of registered CSI drivers`;
    throw new StateletError('Unavailable', message);
  }

  #volDataOf({ source, name }: PodCsiVolume): VolData {
    return {
      specVolID: name,
      volumeHandle: source.handle,
      driverName: source.driver,
      nodeName: this.#parts.nodeName,
      ...(!source.isEphemeral && { attachmentID: this.#attachmentName(source) }),
      volumeLifecycleMode: source.isEphemeral ? 'Ephemeral' : 'Persistent',
    };
  }

  #attachmentName({ driver, handle }: CsiVolumeKey): string {
    return `csi-${sha256(`${handle}${driver}${this.#parts.nodeName}`)}`;
  }

  async #secrets(field: string, reference: SecretReference | undefined): Promise<Texts> {
    if (reference === undefined) return {};
    const { namespace, name } = reference;
    const failed = (problem: string) =>
      new StateletError('NotFound', `fetching ${field} ${namespace}/${name} failed: ${problem}`);
    const secret = await this.#parts.storage.volumeSecret(namespace, name).catch((error: unknown) => {
      throw failed(errorMessage(error));
    });
    if (secret === undefined) throw failed(`secrets "${name}" not found`);
    const decoded = Object.entries(secret.data ?? {}).map(
      ([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const,
    );
    return Object.fromEntries(decoded);
  }

  /** Tokens of the pod's service account, for the audiences that the driver's object names. */
  async #tokens(pod: Pod, object: CSIDriver | undefined): Promise<Texts> {
    const requests = object?.spec.tokenRequests ?? [];
    if (requests.length === 0) return {};
    const tokens: Record<string, object> = {};
    for (const { audience, expirationSeconds = TOKEN_SECONDS } of requests) {
      const token = await this.#parts.objects.token(pod, { audience, expirationSeconds });
      tokens[audience] = { token, expirationTimestamp: expiryOf(token) };
    }
    return { [CSI_TOKENS_KEY]: JSON.stringify(tokens) };
  }
}

function sourceOf(pod: Pod, volume: PodVolume['volume'], claimed: PodVolume['claimed']): CsiSource {
  if (claimed?.source.kind === 'csi') return claimed.source;
  if (volume.csi === undefined)
    throw new StateletError('Internal', `the volume ${volume.name} is none of a CSI driver`);
  const handle = `csi-${sha256(`${pod.metadata.uid}${volume.name}`)}`;
  return inlineCsiSource(pod, volume.csi, handle);
}

function capabilityOf(
  source: CsiSource,
  capabilities: ReadonlySet<CsiCapability>,
  pod?: Pod,
): VolumeCapability {
  const group = pod && capabilities.has('VOLUME_MOUNT_GROUP') ? podFsGroup(pod) : undefined;
  return {
    mount: {
      fsType: source.fsType,
      mountFlags: source.mountOptions,
      volumeMountGroup: group === undefined ? '' : String(group),
    },
    accessMode: { mode: csiAccessMode(source, capabilities) },
  };
}

/** Of a JWT; undefined where the token is none. */
function expiryOf(token: string): string | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      exp?: unknown;
    };
    return typeof claims.exp === 'number' ? new Date(claims.exp * 1000).toISOString() : undefined;
  } catch {
    return undefined;
  }
}

/** Throws where the driver has said that nothing is mounted there any more, and something is. */
async function refuseMounted(target: string, what: string): Promise<void> {
  if (!(await mountedPaths()).has(target)) return;
  throw new StateletError('FailedPrecondition', `${what}, but ${target} is still mounted`);
}

/** What the driver has not done for certain leaves nothing behind: else all stays, until the driver has undone it. */
async function dropUnlessUncertain(target: string, error: unknown, signal: AbortSignal): Promise<void> {
  if (signal.aborted || isUncertain(errorKind(error)) || (await mountedPaths()).has(target)) return;
  await removeTarget(target).catch(() => undefined);
}

/** The folder of a mount, and what is beside it. Never what is in it: a mount that was overlooked would lose its files. */
async function removeTarget(target: string): Promise<void> {
  await removeEmpty(target);
  await removeVolData(dirname(target));
  await removeEmpty(dirname(target));
}

async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return;
    const message = `${folder} is not empty or still mounted, it is left as it is: ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', message, { cause: error });
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
