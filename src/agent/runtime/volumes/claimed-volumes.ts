import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  aboutClaim,
  boundVolume,
  checkBinding,
  checkExclusive,
  checkVolumeMode,
  type ClaimedVolume,
  claimedVolume,
  claimNameOf,
  failedStep,
  MountProblem,
  recordedVolume,
  unprocessed,
} from '../../policies/volumes/claimed-volume.ts';
import type { Volume } from '../../policies/volumes/volume-source.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { unlessAborted } from '../../../system/promises.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../types/kubernetes.ts';
import type { PodPaths } from './pod-paths.ts';
import { machineDisk, type VolumeDisk } from './volume-disk.ts';

const RECORD_MODE = 0o600;
/** More than the API server would store of the volume. */
const RECORD_BYTES_MAX = 4 * 1024 * 1024;

export interface ClaimedVolumesOptions {
  readonly objects: Pick<ApiObjects, 'persistentVolumeClaim' | 'persistentVolume'>;
  /** Of the Node object. */
  readonly nodeLabels: () => Readonly<Record<string, string>>;
  /** Default: that of the machine. */
  readonly disk?: VolumeDisk;
}

/**
 * Volumes with a PersistentVolumeClaim. The PersistentVolume of a claim cannot change while a pod uses it. So it is read once and
 * recorded in the pod's folder: a pod that has started needs neither the claim nor the API server any more.
 */
export class ClaimedVolumes {
  readonly #options: ClaimedVolumesOptions;
  /** By the UID of the pod and the name of its volume. */
  readonly #known = new Map<string, Map<string, ClaimedVolume>>();
  /** The last mounting of each PersistentVolume that is under way: of several pods only the first one changes its group. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(options: ClaimedVolumesOptions) {
    this.#options = options;
  }

  /**
   * The PersistentVolume of the volume's claim; undefined for a volume without a claim. Rejects with a MountProblem while the
   * claim is not bound.
   */
  async find(
    pod: Pod,
    volume: Volume,
    paths: PodPaths,
    signal: AbortSignal,
  ): Promise<ClaimedVolume | undefined> {
    if (claimNameOf(pod, volume) === undefined) return undefined;
    const { uid } = pod.metadata;
    const known = this.of(uid, volume.name);
    if (known !== undefined) return known;
    const file = paths.claimFile(volume.name);
    const { disk = machineDisk } = this.#options;
    const recorded = await readRecordedVolume(file, disk);
    const found = recorded ?? (await this.#ask(pod, volume, signal));
    checkExclusive(found, recorded === undefined && this.#isUsedByOther(uid, found));
    const all = this.#known.get(uid) ?? new Map<string, ClaimedVolume>();
    this.#known.set(uid, all.set(volume.name, found));
    if (recorded === undefined) await record(disk, file, found);
    return found;
  }

  /** Sets the volume up after all other pods that are setting up the same PersistentVolume. */
  async inTurn({ name }: ClaimedVolume, setUp: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const work = unlessAborted(before, signal).then(() => named(name, setUp, signal));
    const turn = Promise.allSettled([before, work]).then(() => {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    });
    this.#turns.set(name, turn);
    await work;
  }

  /** What `find` has found; undefined for a volume without a claim. */
  of(uid: string, volumeName: string): ClaimedVolume | undefined {
    return this.#known.get(uid)?.get(volumeName);
  }

  /** The groups that the volumes give the pod's containers. */
  groupsOf(uid: string): readonly number[] {
    const groups = [...(this.#known.get(uid)?.values() ?? [])].flatMap(({ group }) => group ?? []);
    return [...new Set(groups)];
  }

  /** The pod uses no volume any more. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  async #ask(pod: Pod, volume: Volume, signal: AbortSignal): Promise<ClaimedVolume> {
    let persistentVolume: PersistentVolume;
    try {
      persistentVolume = await this.#persistentVolume(pod, volume, signal);
      checkVolumeMode(pod, volume, persistentVolume);
    } catch (error) {
      signal.throwIfAborted();
      throw unprocessed(volume.name, error);
    }
    return claimedVolume(pod, volume, persistentVolume, this.#options.nodeLabels());
  }

  async #persistentVolume(pod: Pod, volume: Volume, signal: AbortSignal): Promise<PersistentVolume> {
    const { objects } = this.#options;
    const claimName = claimNameOf(pod, volume) ?? '';
    const asked = async <T>(what: string, work: Promise<T>): Promise<T> => {
      try {
        return await unlessAborted(work, signal);
      } catch (error) {
        const message = `${what} from API server: ${errorMessage(error)}`;
        throw aboutClaim(pod, claimName, new StateletError(errorKind(error), message, { cause: error }));
      }
    };
    const claim: PersistentVolumeClaim | undefined = await asked(
      'failed to fetch PVC',
      objects.persistentVolumeClaim(pod.metadata.namespace, claimName),
    );
    const name = boundVolume(pod, volume, claim);
    const found = await asked(`failed to get PV ${name}`, objects.persistentVolume(name));
    checkBinding(pod, claim ?? {}, name, found);
    return found;
  }

  #isUsedByOther(uid: string, { name }: ClaimedVolume): boolean {
    return [...this.#known].some(
      ([other, volumes]) => other !== uid && [...volumes.values()].some((volume) => volume.name === name),
    );
  }
}

/** A failure names the PersistentVolume. */
async function named(name: string, setUp: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    await setUp();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof MountProblem ? error : failedStep('MountVolume.SetUp', name, error);
  }
}

/** What has been recorded in the file; undefined where there is none. */
export async function readRecordedVolume(
  file: string,
  disk: Pick<VolumeDisk, 'readFile'> = machineDisk,
): Promise<ClaimedVolume | undefined> {
  return recordedVolume((await disk.readFile(file, RECORD_BYTES_MAX)) ?? '');
}

/** The PersistentVolumes that pods with a folder in the root folder use, also pods that ended before this agent began. */
export async function recordedVolumes(rootDir: string): Promise<ReadonlySet<string>> {
  const podsDir = join(rootDir, 'pods');
  const names = new Set<string>();
  for (const uid of (await ifThere(readdir(podsDir))) ?? []) {
    const claimsDir = join(podsDir, uid, 'claims');
    for (const volume of (await ifThere(readdir(claimsDir))) ?? []) {
      const recorded = await readRecordedVolume(join(claimsDir, volume));
      if (recorded !== undefined) names.add(recorded.name);
    }
  }
  return names;
}

async function record(disk: VolumeDisk, file: string, claimed: ClaimedVolume): Promise<void> {
  await disk.makeFolder(dirname(file));
  await disk.replaceFile(file, JSON.stringify(claimed), RECORD_MODE);
}
