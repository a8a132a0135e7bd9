import { join } from 'node:path';
import { type EnvFile, type FileKeyRef, unreadableEnvFile } from '../../policies/cri/container-env.ts';
import { RejectedError } from '../../policies/admission/rejection.ts';
import { limitRejection } from '../../policies/volumes/csi-attachment.ts';
import { uniqueVolumeName } from '../../policies/volumes/csi-source.ts';
import {
  type ClaimedVolume,
  failedStep,
  mountFailure,
  pluginOf,
} from '../../policies/volumes/claimed-volume.ts';
import { namesOf } from '../../policies/volumes/projected-files.ts';
import { kindOfFiles, usedVolumes, type Volume } from '../../policies/volumes/volume-source.ts';
import { unlessAborted } from '../../../system/promises.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Device, Mount } from '../../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { Stopwatch, VolumeMeasurements } from '../../../types/measurements.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import {
  ContainerMounts,
  type ContainerMountsParts,
  type ContainerMountsRequest,
  type HostsMountRequest,
  type TerminationMountRequest,
} from './container-mounts.ts';
import { downwardAPIContents } from './kinds/volume-contents.ts';
import type { PodVolume, VolumeKind, VolumeNode, VolumeState } from './kinds/volume-kind.ts';
import { kindOf } from './kinds/volume-kinds.ts';
import { podPaths, type PodPaths } from './pod-paths.ts';
import { removePodFolder, removeVolumes } from './remove-pod-folder.ts';
import { readInVolume } from './safe-open.ts';
import { machineDisk, type VolumeDisk } from './volume-disk.ts';

/** More than the kernel would pass to a process. */
const ENV_FILE_MAX_BYTES = 1024 * 1024;
/** As long as the kubelet waits for the volumes of a pod in one sync. */
const WAIT_MAX_MS = 123_000;

export interface VolumeManagerParts
  extends Omit<ContainerMountsParts, 'isLabelled'>, Pick<VolumeNode, 'allocatable' | 'csi' | 'givesDevices'> {
  readonly rootDir: string;
  /** Sources of files beside `downwardAPI`. */
  readonly contents?: VolumeNode['contents'];
  readonly claims?: ClaimedVolumes;
  /** Default: that of the machine. */
  readonly disk?: VolumeDisk;
}

/**
 * The files of pods below `<rootDir>/pods/<uid>`: volumes, `/etc/hosts`, termination messages. What is in memory only spares work:
 * files and mounts are looked up where this agent has not made them, so that it can continue the work of a killed one. Calls for one
 * pod must not overlap.
 */
export class VolumeManager {
  readonly #context: AgentContext;
  readonly #parts: VolumeManagerParts;
  readonly #node: VolumeNode;
  readonly #meter: VolumeMeter;
  readonly #mounts: ContainerMounts;
  readonly #states = new VolumeStates();
  readonly #disk: VolumeDisk;
  #podsDir: string | undefined;

  constructor(context: AgentContext, parts: VolumeManagerParts) {
    this.#context = context;
    this.#parts = parts;
    this.#disk = parts.disk ?? machineDisk;
    this.#meter = new VolumeMeter(context.measurements);
    const isLabelled = (uid: string, volume: string) => this.#states.of(uid, volume).isLabelled === true;
    this.#mounts = new ContainerMounts(context, { ...parts, isLabelled });
    const contents = new Map([...(parts.contents ?? []), ['downwardAPI', downwardAPIContents] as const]);
    const { allocatable, csi, givesDevices, withoutMounts } = parts;
    this.#node = {
      ...context,
      allocatable,
      contents,
      csi,
      givesDevices,
      ...(withoutMounts && { withoutMounts }),
    };
  }

  /**
   * Before the first container of the pod starts, and on every sync: sets up the volumes that its containers mount, and updates the
   * files that the agent writes into them. An event tells each failure. Rejects where a volume has not been set up, after two minutes
   * at the latest: what hangs goes on then, the next call waits for it, and so does the removal of the volumes. As with the kubelet,
   * only the first set-up of a volume is needed: files that cannot be brought up to date stay as they are.
   */
  async mountPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const { clock } = this.#context;
    const since = this.#states.lackingSince(uid, clock.now());
    try {
      await this.#mountPod(pod, signal);
      this.#states.lacksNone(uid);
    } catch (error) {
      signal.throwIfAborted();
      // A controller has as long to find room for a volume as the kubelet gives it.
      if (clock.now() - since >= WAIT_MAX_MS) await this.#rejectBeyondLimit(pod, signal);
      throw error;
    }
  }

  async #mountPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const paths = await this.#pathsOf(uid);
    if (!this.#states.has(uid)) await this.#disk.makeFolder(paths.podDir);
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    const ready = volumes.filter((volume) => this.#isRefreshedBeside(pod, volume));
    for (const volume of ready) this.#refresh(pod, volume, paths, signal);
    const awaited = volumes.filter((volume) => !ready.includes(volume));
    const outcomes = await this.#withinLimit(signal, (limit) =>
      Promise.allSettled(
        awaited.map((volume) =>
          this.#states.inTurn(uid, volume.name, () => this.#setUp(pod, volume, paths, limit)),
        ),
      ),
    );
    signal.throwIfAborted();
    if (outcomes === undefined) this.#refuseUnmounted(pod, volumes);
    const failures = outcomes?.filter((outcome) => outcome.status === 'rejected') ?? [];
    const [first] = failures;
    if (first === undefined) return;
    const message = failures.map(({ reason }) => errorMessage(reason)).join('; ');
    throw new StateletError(errorKind(first.reason), message, { cause: first.reason });
  }

  /**
   * The mounts of a container's volumes. `mountPod` must have resolved. Rejects with a StateletError where a mount is not possible as the
   * container asks for it.
   */
  async containerMounts(request: ContainerMountsRequest): Promise<readonly Mount[]> {
    return this.#mounts.of(request, await this.#pathsOf(request.pod.metadata.uid));
  }

  /** The block devices of a container's volumes. `mountPod` must have resolved. */
  async containerDevices(
    request: Pick<ContainerMountsRequest, 'pod' | 'container'>,
  ): Promise<readonly Device[]> {
    return this.#mounts.devices(request, await this.#pathsOf(request.pod.metadata.uid));
  }

  /** The mount of `/etc/hosts`, where the agent writes that file. */
  async hostsMount(request: HostsMountRequest): Promise<readonly Mount[]> {
    return this.#mounts.hosts(request, await this.#pathsOf(request.pod.metadata.uid));
  }

  /** What the claim of the pod's volume leads to; undefined for a volume without a claim, and while that is not known. */
  claimed(uid: string, volume: string): ClaimedVolume | undefined {
    return this.#parts.claims?.of(uid, volume);
  }

  /** Groups that the pod's volumes give its containers. `mountPod` must have resolved. */
  groupsOf(uid: string): readonly number[] {
    return this.#parts.claims?.groupsOf(uid) ?? [];
  }

  /** Makes an empty file for the termination message of an instance that is about to be created. */
  async terminationMount(request: TerminationMountRequest): Promise<readonly Mount[]> {
    return this.#mounts.termination(request, await this.#pathsOf(request.pod.metadata.uid));
  }

  /** A file of an emptyDir from which variables of a container are read. The pod must not learn of other files on the node. */
  async envFile(pod: Pod, { volumeName, path }: FileKeyRef): Promise<EnvFile> {
    if (!usedVolumes(pod).some(({ name }) => name === volumeName)) {
      const message = `cannot find the volume "${volumeName}" referenced by FileKeyRef`;
      return { problem: new StateletError('NotFound', message) };
    }
    const folder = (await this.#pathsOf(pod.metadata.uid)).volume('emptyDir', volumeName);
    try {
      const text = await readInVolume(folder, namesOf(path), ENV_FILE_MAX_BYTES);
      return { path: join(folder, path), text };
    } catch (error) {
      const what = `${path} of volume ${volumeName}`;
      this.#context.logger.warn(podFields(pod.metadata), `cannot read ${what}: ${errorMessage(error)}`);
      return {
        problem: unreadableEnvFile(`${what} must be a plain file in the volume, of no more than 1 MiB`),
      };
    }
  }

  /**
   * After the pod is Terminated, never before: removes its volumes. Termination messages stay until the
   * pod is forgotten. Rejects where something stays mounted. An unknown UID is no error.
   */
  async releaseVolumes(uid: string): Promise<void> {
    await this.#letRest(uid);
    const paths = await this.#pathsOnDisk(uid);
    if (paths === undefined) {
      this.#parts.claims?.forget(uid);
      return;
    }
    const end = this.#meter.unmounting(uid);
    try {
      await removeVolumes(uid, paths, { disk: this.#disk, csi: this.#parts.csi });
      end?.('success');
      this.#parts.claims?.forget(uid);
    } catch (error) {
      end?.('failure');
      throw error;
    }
  }

  /**
   * Once the pod is forgotten: unmounts everything below the pod's folder and removes the folder. Rejects where something stays
   * mounted, and leaves the folder for the next try. An unknown UID is no error.
   */
  async unmountPod(uid: string): Promise<void> {
    await this.#letRest(uid);
    const paths = await this.#pathsOnDisk(uid);
    if (paths === undefined) return;
    await removePodFolder(uid, paths, { disk: this.#disk, csi: this.#parts.csi });
  }

  /** UIDs of the pods that have a folder here. */
  async podsOnDisk(): Promise<readonly string[]> {
    return this.#disk.subfolderNames(join(this.#parts.rootDir, 'pods'));
  }

  /** Undefined where the pod has no folder. Makes no folder: pods must be removable on a full disk. */
  async #pathsOnDisk(uid: string): Promise<PodPaths | undefined> {
    const { podDir } = podPaths(join(this.#parts.rootDir, 'pods'), uid);
    return (await this.#disk.exists(podDir)) ? this.#pathsOf(uid) : undefined;
  }

  async #pathsOf(uid: string): Promise<PodPaths> {
    if (this.#podsDir === undefined) {
      const podsDir = join(this.#parts.rootDir, 'pods');
      await this.#disk.makeFolder(podsDir);
      // The name by which the kernel lists it among mounts.
      this.#podsDir = await this.#disk.realpath(podsDir);
    }
    return podPaths(this.#podsDir, uid, this.#parts.withoutMounts?.memoryDir);
  }

  /** Undefined after two minutes, or as soon as the signal aborts. */
  async #withinLimit<T>(
    signal: AbortSignal | undefined,
    work: (limit: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock } = this.#context;
    const timeout = new AbortController();
    const timer = clock.setTimeout(() => timeout.abort(), WAIT_MAX_MS);
    const limit = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
    try {
      return await unlessAborted(work(limit), limit);
    } catch (error) {
      if (limit.aborted) return undefined;
      throw error;
    } finally {
      clock.clearTimeout(timer);
    }
  }

  /** As with the kubelet there is no event: the volumes may still be on their way. */
  #refuseUnmounted(pod: Pod, volumes: readonly Volume[]): void {
    const { metadata } = pod;
    const names = this.#unmounted(pod, volumes).map(({ name }) => name);
    if (names.length === 0) return;
    const lists = `unmounted volumes=[${names.join(' ')}], unattached volumes=[], failed to process volumes=[]`;
    const message = `Unable to attach or mount volumes: ${lists}: context deadline exceeded`;
    this.#context.logger.warn(podFields(metadata), message);
    throw new StateletError('DeadlineExceeded', message);
  }

  #unmounted(pod: Pod, volumes = usedVolumes(pod)): readonly Volume[] {
    return volumes.filter(({ name }) => this.#states.of(pod.metadata.uid, name).readyAs === undefined);
  }

  /** Throws where the node can have no more volumes of a driver, and the pod lacks one of them. */
  async #rejectBeyondLimit(pod: Pod, signal: AbortSignal): Promise<void> {
    const { csi, claims } = this.#parts;
    const { uid } = pod.metadata;
    const asked = csi?.beyondLimit(uid).catch((error: unknown) => {
      this.#context.logger.debug(podFields(pod.metadata), errorMessage(error));
      return undefined;
    });
    const beyond = asked && (await unlessAborted(asked, signal));
    if (beyond === undefined) return;
    const unmounted = this.#unmounted(pod);
    const unattached = unmounted.filter(({ name }) => {
      const source = claims?.of(uid, name)?.source;
      return source?.kind === 'csi' && beyond.has(uniqueVolumeName(source));
    });
    const namesOf = (volumes: readonly Volume[]) => volumes.map(({ name }) => name);
    throw new RejectedError(limitRejection(namesOf(unmounted), namesOf(unattached)));
  }

  /** Before volumes are removed: what is being done for one of them would make it anew. */
  async #letRest(uid: string): Promise<void> {
    const isAtRest = await this.#withinLimit(undefined, async () => {
      await this.#states.atRest(uid);
      return true;
    });
    if (!isAtRest)
      throw new StateletError('DeadlineExceeded', 'a volume is still being set up, it is tried again');
    this.#states.forget(uid);
  }

  /** The pod has it, and containers go on with what is there. */
  #isRefreshedBeside({ metadata: { uid } }: Pod, volume: Volume): boolean {
    if (this.#states.of(uid, volume.name).readyAs !== JSON.stringify(volume)) return false;
    const claimed = this.#parts.claims?.of(uid, volume.name);
    return kindOf({ volume, claimed }).isRefreshedBeside === true;
  }

  /** A failure is told by an event. Where the last one is under way still, it is not asked for again. */
  #refresh(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): void {
    const { uid } = pod.metadata;
    const { isKeptFresh = false, underWay } = this.#states.of(uid, volume.name);
    if (!isKeptFresh || underWay) return;
    this.#states
      .inTurn(uid, volume.name, () => this.#setUp(pod, volume, paths, signal))
      .catch((error: unknown) => this.#context.logger.debug(podFields(pod.metadata), errorMessage(error)));
  }

  async #setUp(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): Promise<void> {
    const { claims } = this.#parts;
    const state = this.#states.of(pod.metadata.uid, volume.name);
    const wanted = JSON.stringify(volume);
    let isUsable = (): Promise<boolean> | undefined => undefined;
    try {
      const known = { pod, volume, paths, claimed: claims?.of(pod.metadata.uid, volume.name) };
      if (state.readyAs === wanted && !state.isKeptFresh) return;
      signal.throwIfAborted();
      const found = { ...known, claimed: await claims?.find(pod, volume, paths, signal) };
      const kind = kindOf(found);
      isUsable = () => kind.isUsable?.(found, this.#node);
      await this.#setUpMeasured(kind, found, signal);
      state.readyAs = wanted;
    } catch (error) {
      signal.throwIfAborted();
      const message = mountFailure(volume, error);
      const isBlock = claims?.of(pod.metadata.uid, volume.name)?.isBlock === true;
      const reason = isBlock ? 'FailedMapVolume' : 'FailedMount';
      this.#context.recorder.event(pod.metadata, 'Warning', reason, message);
      if (await isUsable()) state.readyAs = wanted;
      else throw new StateletError(errorKind(error), message, { cause: error });
    }
  }

  async #setUpMeasured(kind: VolumeKind, found: PodVolume, signal: AbortSignal): Promise<void> {
    const { pod, volume, claimed } = found;
    const { uid } = pod.metadata;
    const request = { ...found, state: this.#states.of(uid, volume.name), node: this.#node };
    const setUp = () => kind.setUp(request, signal);
    if (claimed?.isBlock && this.#node.givesDevices !== true) throw noDevices(claimed.name);
    const end = this.#meter.mounting(uid, volume, {
      plugin: pluginOf(found),
      isBlock: claimed?.isBlock === true,
    });
    try {
      await (claimed ? this.#parts.claims?.inTurn(claimed, setUp, signal) : setUp());
      end?.('success');
    } catch (error) {
      end?.('failure');
      throw error;
    }
  }
}

function noDevices(name: string): Error {
  const problem = 'block devices (volumeDevices) need a runtime of CRI; use a claim of volumeMode Filesystem';
  return failedStep('MapVolume.SetUpDevice', name, new StateletError('Unimplemented', problem));
}

/** The volumes of all pods, by the UIDs of pods and the names of volumes. */
export class VolumeStates {
  readonly #pods = new Map<string, Map<string, VolumeState>>();
  /** Unix ms. */
  readonly #lackingSince = new Map<string, number>();

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  of(uid: string, volume: string): VolumeState {
    const pod = this.#pods.get(uid) ?? new Map<string, VolumeState>();
    const state = pod.get(volume) ?? {};
    this.#pods.set(uid, pod.set(volume, state));
    return state;
  }

  /** Runs the work on a volume after all earlier work on it, which its caller may have stopped waiting for. */
  async inTurn(uid: string, volume: string, work: () => Promise<void>): Promise<void> {
    const state = this.of(uid, volume);
    const before = state.underWay;
    const own = before === undefined ? work() : before.then(work, work);
    state.underWay = own;
    try {
      await own;
    } finally {
      if (state.underWay === own) delete state.underWay;
    }
  }

  /** Settles when nothing is being done for a volume of the pod. */
  async atRest(uid: string): Promise<void> {
    const states = [...(this.#pods.get(uid)?.values() ?? [])];
    await Promise.allSettled(states.flatMap(({ underWay }) => underWay ?? []));
  }

  /** Since when the pod lacks a volume: `nowMs`, unless it was known to do so. */
  lackingSince(uid: string, nowMs: number): number {
    const since = this.#lackingSince.get(uid) ?? nowMs;
    this.#lackingSince.set(uid, since);
    return since;
  }

  lacksNone(uid: string): void {
    this.#lackingSince.delete(uid);
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
    this.lacksNone(uid);
  }
}

interface MeteredVolume {
  /** Its kind, by the kubelet's name. */
  readonly plugin: string;
  readonly isBlock: boolean;
}

/** Measures what the kubelet would count as mounting and unmounting a volume. Without measurements it remembers nothing. */
export class VolumeMeter {
  readonly #measurements: VolumeMeasurements | undefined;
  /** The kinds of the volumes that are mounted, by the UIDs of pods and the names of the volumes. */
  readonly #mounted = new Map<string, Map<string, MeteredVolume>>();
  /** Those that have not been mounted yet. */
  readonly #wanted = new Map<string, Map<string, Stopwatch>>();

  constructor(measurements: VolumeMeasurements | undefined) {
    this.#measurements = measurements;
  }

  /** Undefined where the volume is mounted already. */
  mounting(uid: string, volume: Volume, metered: MeteredVolume): Stopwatch | undefined {
    if (this.#measurements === undefined) return undefined;
    const { plugin, isBlock } = metered;
    const mounted = this.#mounted.get(uid) ?? new Map<string, MeteredVolume>();
    if (mounted.has(volume.name) && kindOfFiles(volume) === undefined) return undefined;
    const end = this.#measurements.volumeOperation(isBlock ? 'map_volume' : 'volume_mount', plugin);
    const wanted = this.#wanted.get(uid) ?? new Map<string, Stopwatch>();
    if (!mounted.has(volume.name) && !wanted.has(volume.name))
      this.#wanted.set(uid, wanted.set(volume.name, this.#measurements.volumeWanted(plugin)));
    return (outcome) => {
      end(outcome);
      if (outcome === 'failure') return;
      this.#mounted.set(uid, mounted.set(volume.name, metered));
      wanted.get(volume.name)?.();
      wanted.delete(volume.name);
    };
  }

  /** All volumes of the pod are unmounted in one go: each of them takes as long as all. */
  unmounting(uid: string): Stopwatch | undefined {
    this.#wanted.delete(uid);
    const mounted = this.#mounted.get(uid);
    if (mounted === undefined) return undefined;
    const ends = [...mounted.values()].flatMap(
      ({ plugin, isBlock }) =>
        this.#measurements?.volumeOperation(isBlock ? 'unmap_volume' : 'volume_unmount', plugin) ?? [],
    );
    return (outcome) => {
      if (outcome !== 'failure') this.#mounted.delete(uid);
      for (const end of ends) end(outcome);
    };
  }
}
