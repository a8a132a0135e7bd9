/** The volumes of a simulated node: production code says which files they have, and writes them to a simulated disk. */
import { volumePayload } from '../../agent/policies/volumes/projected-files.ts';
import { usedVolumes, type Volume, volumeKind } from '../../agent/policies/volumes/volume-source.ts';
import { type PodSubsystem, PrepareError } from '../../agent/runtime/node/pod-node.ts';
import {
  downwardAPIContents,
  objectContents,
  sourceFiles,
  type VolumeContentsByKind,
} from '../../agent/runtime/volumes/kinds/volume-contents.ts';
import { sleep } from '../../system/timer.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFaultDraws, NodeFaultDrawsOptions } from './node-fault-draws.ts';
import { folderOf, type PodFolder, type SimulatedDisk } from './simulated-disk.ts';

export interface SimulatedVolumesOptions extends NodeFaultDrawsOptions {
  readonly disk: SimulatedDisk;
  readonly clock: Clock;
  /** Without them, no pod may refer to objects of an API server. */
  readonly objects?: ApiObjects;
  /** Something of the pod's volumes has been set up. */
  readonly onMount?: (uid: string) => void;
  /** The release of the pod's volumes begins. It may still fail. */
  readonly onRelease?: (uid: string) => void;
  /** Whether the agent still lives: a killed one changes nothing on the disk any more. */
  readonly isAlive?: () => boolean;
}

const MAX_HANG_MS = 120_000;
const MAX_OUTAGE_MS = 300_000;

export function simulatedVolumes(options: SimulatedVolumesOptions, faults: NodeFaultDraws): PodSubsystem {
  return new SimulatedVolumes(options, faults);
}

class SimulatedVolumes implements PodSubsystem {
  readonly name = 'volumes';
  readonly #options: SimulatedVolumesOptions;
  readonly #faults: NodeFaultDraws;
  readonly #contents: VolumeContentsByKind;
  /** By UID, when the agent first tried to mount something of the pod. Unix ms. */
  readonly #firstTries = new Map<string, number>();

  constructor(options: SimulatedVolumesOptions, faults: NodeFaultDraws) {
    this.#options = options;
    this.#faults = faults;
    const ofServer = options.objects ? objectContents(options.objects) : [];
    this.#contents = new Map([...ofServer, ['downwardAPI', downwardAPIContents]]);
  }

  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const { disk } = this.#options;
    await stepOf(this.#options);
    const folder = folderOf(disk, uid);
    if (!folder.mounted) await this.#reach(uid, signal);
    const volumes = usedVolumes(pod).filter(hasFiles);
    const work = volumes.map((volume) => this.#write(pod, volume, folder, signal));
    const failed = (await Promise.allSettled(work)).find((outcome) => outcome.status === 'rejected');
    await stepOf(this.#options);
    signal.throwIfAborted();
    if (failed !== undefined) throw new PrepareError('FailedMount', failed.reason);
    if (!folder.mounted) this.#mounted(uid, folder);
  }

  async release(uid: string): Promise<void> {
    const { disk, onRelease } = this.#options;
    onRelease?.(uid);
    await stepOf(this.#options);
    if (this.#faults.happens('release', uid)) throw new StateletError('Internal', 'the volume is busy');
    this.#firstTries.delete(uid);
    const folder = disk.get(uid);
    folder?.volumes.clear();
    if (folder !== undefined) folder.mounted = false;
  }

  /** The pod's first mount may hang or fail. */
  async #reach(uid: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    signal.throwIfAborted();
    const first = this.#firstTries.get(uid) ?? clock.now();
    this.#firstTries.set(uid, first);
    const outageMs = MAX_OUTAGE_MS * this.#faults.lastingSeverity('mountOutage', uid);
    if (clock.now() < first + outageMs || this.#faults.happens('mount', uid))
      throw new PrepareError('FailedMount', new Error(DISK_PROBLEM));
    const hangMs = MAX_HANG_MS * this.#faults.severity('mountHang', uid);
    if (hangMs > 0) await sleep(clock, hangMs, signal);
    await stepOf(this.#options);
  }

  /** As on a real disk, files stay as they are if the objects for new ones cannot be read. */
  async #write(pod: Pod, volume: Volume, folder: PodFolder, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const written = folder.volumes.get(volume.name);
    try {
      const deps = { allocatable: {}, contents: this.#contents };
      const payload = volumePayload(await sourceFiles(deps, pod, volume, signal));
      await stepOf(this.#options);
      signal.throwIfAborted();
      const files = new Map(Array.from(payload, ([path, { content }]) => [path, textOf(content)]));
      if (written !== undefined && isSame(written, files)) return;
      if (this.#faults.happens('mount', uid)) throw new Error(DISK_PROBLEM);
      folder.volumes.set(volume.name, files);
      this.#mounted(uid, folder);
    } catch (error) {
      if (written === undefined) throw error;
    }
  }

  #mounted(uid: string, folder: PodFolder): void {
    const { clock, onMount } = this.#options;
    onMount?.(uid);
    if (!folder.mounted) folder.mountedAt = clock.now();
    folder.mounted = true;
  }
}

/** One step of work on the disk. It never ends for an agent that has been killed. */
export async function stepOf({ isAlive }: Pick<SimulatedVolumesOptions, 'isAlive'>): Promise<void> {
  await Promise.resolve();
  if (isAlive?.() === false) await new Promise(() => undefined);
}

const FILE_KINDS: ReadonlySet<string> = new Set(['downwardAPI', 'projected', 'configMap', 'secret']);

/** Whether the agent writes files into the volume. */
export function hasFiles(volume: Volume): boolean {
  return volume.persistentVolumeClaim === undefined && FILE_KINDS.has(volumeKind(volume));
}

const DISK_PROBLEM = 'the disk did not answer';

function textOf(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content);
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([path, text]) => other.get(path) === text);
}
