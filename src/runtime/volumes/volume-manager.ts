import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../system/make-folder.ts';
import { type EnvFile, type FileKeyRef, unreadableEnvFile } from '../../policies/cri/container-env.ts';
import { mountFailure } from '../../policies/volumes/claims/mount-problems.ts';
import { emptyDirFilesystem } from '../../policies/volumes/empty-dir.ts';
import { namesOf } from '../../policies/volumes/projected-files.ts';
import { podFsGroup } from '../../policies/volumes/volume-ownership.ts';
import {
  hostPathOf,
  kindOfFiles,
  usedVolumes,
  volumeKind,
  type Volume,
} from '../../policies/volumes/volume-source.ts';
import type { Clock } from '../../types/clock.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Mount } from '../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { podFields, type Logger } from '../../types/logger.ts';
import type { Stopwatch, VolumeMeasurements } from '../../types/measurements.ts';
import { removeTree } from '../../system/files/remove-tree.ts';
import { ifThere } from '../../system/system-errors.ts';
import { unlessAborted } from '../../system/promises/unless-aborted.ts';
import type { ClaimedVolumes } from './claims/claimed-volumes.ts';
import {
  ContainerMounts,
  type ContainerMountsRequest,
  type TerminationMountRequest,
} from './container-mounts.ts';
import { removeLocalVolumes } from './claims/local-volume.ts';
import { currentVersion } from './atomic-writer.ts';
import { setUpFilesVolume } from './files-volume.ts';
import { setUpHostPath } from './host-path.ts';
import { unmountBelow } from './mounter.ts';
import { podPaths, PRIVATE_FOLDER_MODE, type PodPaths } from './pod-paths.ts';
import { readInVolume } from './safe-open.ts';
import { removePodFolder } from './remove-pod-folder.ts';
import { removeSubPaths } from './sub-path.ts';
import { downwardAPIContents, type VolumeContentsByKind } from './volume-contents.ts';
import { makeVolumeFolder, mountVolumeFolder } from './volume-folder.ts';
import { VolumeMeter } from './volume-meter.ts';
import { VolumeStates } from './volume-states.ts';
import type { WrittenFiles } from './written-files.ts';

/** More than the kernel would pass to a process. */
const ENV_FILE_MAX_BYTES = 1024 * 1024;
/** As long as the kubelet waits for the volumes of a pod in one sync. */
const WAIT_MAX_MS = 123_000;

export interface VolumeManagerOptions {
  readonly rootDir: string;
  /** The node's allocatable resources: quantities by name. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** The domain of pods with a subdomain ends in it; may be empty. */
  readonly clusterDomain: string;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  /** Sources of files beside `downwardAPI`. */
  readonly contents?: VolumeContentsByKind;
  /** Without it, pods cannot have claims. */
  readonly claims?: ClaimedVolumes;
  readonly measurements?: VolumeMeasurements;
}

/**
 * The files of pods below `<rootDir>/pods/<uid>`: volumes, `/etc/hosts`, termination messages. What is in memory only spares work:
 * files and mounts are looked up where this agent has not made them, so that it can continue the work of a killed one. Calls for one
 * pod must not overlap.
 */
export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #contents: VolumeContentsByKind;
  readonly #meter: VolumeMeter;
  readonly #mounts: ContainerMounts;
  readonly #states = new VolumeStates<WrittenFiles>();
  #podsDir: string | undefined;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    this.#meter = new VolumeMeter(options.measurements);
    this.#mounts = new ContainerMounts(options);
    this.#contents = new Map([...(options.contents ?? []), ['downwardAPI', downwardAPIContents]]);
  }

  /**
   * Before the first container of the pod starts, and on every sync: sets up the volumes that its containers mount, and updates the
   * files that the agent writes into them. An event tells each failure. Rejects where a volume has not been set up, after two minutes
   * at the latest: what hangs goes on then, the next call waits for it, and so does the removal of the volumes. As with the kubelet,
   * only the first set-up of a volume is needed: files that cannot be brought up to date stay as they are.
   */
  async mountPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const paths = await this.#pathsOf(uid);
    if (!this.#states.has(uid)) await makeFolder(paths.podDir, PRIVATE_FOLDER_MODE);
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    const outcomes = await this.#withinLimit(signal, (limit) =>
      Promise.allSettled(
        volumes.map((volume) =>
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
   * The mounts of a container, without that of its termination message. `mountPod` must have resolved. Rejects with a StateletError
   * where a mount is not possible as the container asks for it.
   */
  async containerMounts(request: ContainerMountsRequest): Promise<readonly Mount[]> {
    return this.#mounts.of(request, await this.#pathsOf(request.pod.metadata.uid));
  }

  /** Groups that the pod's volumes give its containers. `mountPod` must have resolved. */
  groupsOf(uid: string): readonly number[] {
    return this.#options.claims?.groupsOf(uid) ?? [];
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
      this.#options.logger.warn(podFields(pod.metadata), `cannot read ${what}: ${errorMessage(error)}`);
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
      this.#options.claims?.forget(uid);
      return;
    }
    const { podDir, volumesDir, subPathsDir } = paths;
    const end = this.#meter.unmounting(uid);
    try {
      await unmountBelow(podDir);
      await removeSubPaths(subPathsDir);
      await removeLocalVolumes(volumesDir);
      await removeTree(volumesDir);
      end?.('success');
      this.#options.claims?.forget(uid);
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
    await removePodFolder(paths);
  }

  /** UIDs of the pods that have a folder here. */
  async podsOnDisk(): Promise<readonly string[]> {
    const podsDir = join(this.#options.rootDir, 'pods');
    const entries = (await ifThere(readdir(podsDir, { withFileTypes: true }))) ?? [];
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  /** Undefined where the pod has no folder. Makes no folder: pods must be removable on a full disk. */
  async #pathsOnDisk(uid: string): Promise<PodPaths | undefined> {
    const { podDir } = podPaths(join(this.#options.rootDir, 'pods'), uid);
    return (await ifThere(stat(podDir))) === undefined ? undefined : this.#pathsOf(uid);
  }

  async #pathsOf(uid: string): Promise<PodPaths> {
    if (this.#podsDir === undefined) {
      const podsDir = join(this.#options.rootDir, 'pods');
      await makeFolder(podsDir, PRIVATE_FOLDER_MODE);
      // The name by which the kernel lists it among mounts.
      this.#podsDir = await realpath(podsDir);
    }
    return podPaths(this.#podsDir, uid);
  }

  /** Undefined after two minutes, or as soon as the signal aborts. */
  async #withinLimit<T>(
    signal: AbortSignal | undefined,
    work: (limit: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock } = this.#options;
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
  #refuseUnmounted({ metadata }: Pod, volumes: readonly Volume[]): void {
    const isUnmounted = ({ name }: Volume) => this.#states.of(metadata.uid, name).readyAs === undefined;
    const names = volumes.filter(isUnmounted).map(({ name }) => name);
    if (names.length === 0) return;
    const lists = `unmounted volumes=[${names.join(' ')}], unattached volumes=[], failed to process volumes=[]`;
    const message = `Unable to attach or mount volumes: ${lists}: context deadline exceeded`;
    this.#options.logger.warn(podFields(metadata), message);
    throw new StateletError('DeadlineExceeded', message);
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

  async #setUp(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): Promise<void> {
    const state = this.#states.of(pod.metadata.uid, volume.name);
    const wanted = JSON.stringify(volume);
    if (state.readyAs === wanted && kindOfFiles(volume) === undefined) return;
    try {
      signal.throwIfAborted();
      await this.#setUpMeasured(pod, volume, paths, signal);
      state.readyAs = wanted;
    } catch (error) {
      signal.throwIfAborted();
      const message = mountFailure(volume, error);
      this.#options.recorder.event(pod.metadata, 'Warning', 'FailedMount', message);
      if (await hasFiles(volume, paths)) state.readyAs = wanted;
      else throw new StateletError(errorKind(error), message, { cause: error });
    }
  }

  async #setUpMeasured(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): Promise<void> {
    const { claims } = this.#options;
    let end: Stopwatch | undefined;
    try {
      const claimed = await claims?.find(pod, volume, paths, signal);
      end = this.#meter.mounting(pod.metadata.uid, volume, claimed?.source.kind);
      if (claimed) await claims?.mount(pod, claimed, paths, signal);
      else await this.#setUpByKind(pod, volume, paths, signal);
      end?.('success');
    } catch (error) {
      end?.('failure');
      throw error;
    }
  }

  async #setUpByKind(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): Promise<void> {
    const { allocatable, clock, logger } = this.#options;
    const kind = volumeKind(volume);
    // The runtime mounts images itself.
    if (kind === 'image') return;
    if (kind === 'hostPath') {
      await setUpHostPath({ path: hostPathOf(volume), type: volume.hostPath?.type ?? '' });
      return;
    }
    const folder = paths.volume(kind, volume.name);
    if (kind === 'emptyDir') {
      const filesystem = emptyDirFilesystem(pod, volume, allocatable);
      if (filesystem) await mountVolumeFolder(folder, filesystem);
      else await makeVolumeFolder(folder, { fsGroup: podFsGroup(pod), logger });
      return;
    }
    const state = this.#states.of(pod.metadata.uid, volume.name);
    state.written = await setUpFilesVolume(
      { allocatable, contents: this.#contents, clock, logger },
      { pod, volume, folder, written: state.written },
      signal,
    );
  }
}

/** Whether files have been written into the volume, if not the latest. */
async function hasFiles(volume: Volume, paths: PodPaths): Promise<boolean> {
  const kind = kindOfFiles(volume);
  return kind !== undefined && (await currentVersion(paths.volume(kind, volume.name))) !== undefined;
}
