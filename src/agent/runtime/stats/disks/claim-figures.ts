/** The figures of volumes with a PersistentVolumeClaim. */
import { dirname, join } from 'node:path';
import { type ClaimedVolume, claimNameOf, claimsOf } from '../../../policies/volumes/claimed-volume.ts';
import type { Volume } from '../../../policies/volumes/volume-source.ts';
import { unlessAborted } from '../../../../system/promises.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import { errorMessage } from '../../../../types/errors.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { podFields } from '../../../../types/logger.ts';
import type { ClaimStats, FsStats } from '../../../../types/stats.ts';
import { readRecordedVolume } from '../../volumes/claimed-volumes.ts';
import { blockPaths, csiFolder } from '../../volumes/csi/csi-block.ts';
import { podPaths } from '../../volumes/pod-paths.ts';
import { machineDisk, type VolumeDisk } from '../../volumes/volume-disk.ts';
import { fileSystemStats } from './file-systems.ts';

/** The kernel answers at once, except for a file system of the network whose server is gone. */
const PATIENCE_MS = 1000;

/** `path`: where it is mounted. */
export type CsiFigures = (
  volume: { readonly driver: string; readonly handle: string },
  path: string,
) => Promise<Required<FsStats> | undefined>;

export interface ClaimFiguresParts {
  /** The folder of pods' folders. */
  readonly podsDir: string;
  readonly podOf: (uid: string) => Pod | undefined;
  /** Default: that of the machine. */
  readonly disk?: Pick<VolumeDisk, 'mountedPaths' | 'realpath' | 'readFile'>;
  /** Default: the kernel's figures of the file system. */
  readonly figuresOf?: typeof fileSystemStats;
  /** Those that the driver of a mounted volume has; undefined where it has none. Without it no driver is asked. */
  readonly csiFigures?: CsiFigures | undefined;
  /** Default: a second. */
  readonly patienceMs?: number;
}

/**
 * As with the kubelet, a local volume has the figures of its file system as soon as it is mounted, and a hostPath volume has none. Pods
 * without claims cost nothing.
 */
export class ClaimFigures {
  readonly #context: AgentContext;
  readonly #parts: ClaimFiguresParts;
  /** One reading at a time: a file system that does not answer blocks only one thread of the agent. */
  #last: Promise<unknown> = Promise.resolve();
  /** The drivers that do not answer, and '' for the kernel. */
  readonly #stuck = new Set<string>();

  constructor(context: AgentContext, parts: ClaimFiguresParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** By the pods' UIDs, without pods that have no such figures. Never rejects. */
  async of(uids: readonly string[]): Promise<ReadonlyMap<string, readonly ClaimStats[]>> {
    const pods = uids.flatMap((uid) => this.#parts.podOf(uid) ?? []);
    const withClaims = pods.filter((pod) => claimsOf(pod).length > 0);
    if (withClaims.length === 0) return new Map();
    const reading = this.#last.then(() => this.#read(withClaims));
    this.#last = reading;
    return reading;
  }

  async #read(pods: readonly Pod[]): Promise<ReadonlyMap<string, readonly ClaimStats[]>> {
    const { disk = machineDisk } = this.#parts;
    const figures = new Map<string, readonly ClaimStats[]>();
    try {
      // The name by which the kernel lists it among mounts.
      const podsDir = await disk.realpath(this.#parts.podsDir);
      const paths = await disk.mountedPaths();
      for (const pod of pods) {
        const folders = await foldersOf(pod, { podsDir, disk, paths });
        const stats: ClaimStats[] = [];
        for (const mounted of folders) stats.push(...(await this.#volume(pod, mounted)));
        if (stats.length > 0) figures.set(pod.metadata.uid, stats);
      }
    } catch (error) {
      this.#context.logger.debug({}, `The figures of claims are not known: ${errorMessage(error)}`);
    }
    return figures;
  }

  async #volume(pod: Pod, { volume, folder, source, isBlock }: MountedClaim): Promise<readonly ClaimStats[]> {
    const { patienceMs = PATIENCE_MS } = this.#parts;
    const asked = source.kind === 'csi' && this.#parts.csiFigures ? source.driver : '';
    if (this.#stuck.has(asked)) return [];
    const reading = this.#figures(folder, source, isBlock);
    const patience = AbortSignal.timeout(patienceMs);
    try {
      const figures = await unlessAborted(reading, patience);
      if (figures === undefined) return [];
      const pvcRef = { name: claimNameOf(pod, volume) ?? '', namespace: pod.metadata.namespace };
      return [{ ...figures, name: volume.name, pvcRef }];
    } catch (error) {
      const message = `The figures of volume ${volume.name} are not known: ${errorMessage(error)}`;
      this.#context.logger.debug(podFields(pod.metadata), message);
      if (patience.aborted) this.#waitFor(asked, reading);
      return [];
    }
  }

  async #figures(
    folder: string,
    source: ClaimedVolume['source'],
    isBlock: boolean,
  ): Promise<Required<FsStats> | undefined> {
    const { figuresOf = fileSystemStats, csiFigures } = this.#parts;
    const own = source.kind === 'csi' ? await csiFigures?.(source, folder) : undefined;
    return own ?? (isBlock ? undefined : figuresOf(folder));
  }

  #waitFor(asked: string, reading: Promise<unknown>): void {
    this.#stuck.add(asked);
    void reading.catch(() => undefined).finally(() => this.#stuck.delete(asked));
  }
}

/** Where the CSI driver has published a block device for the pod. */
function publishedDevice(podsDir: string, name: string, uid: string): string {
  return join(blockPaths(csiFolder(dirname(podsDir)), name).publishDir, uid);
}

interface MountedClaim {
  readonly volume: Volume;
  readonly folder: string;
  readonly source: ClaimedVolume['source'];
  readonly isBlock: boolean;
}

/** The folders of the pod's volumes of claims that are mounted. */
async function foldersOf(
  pod: Pod,
  {
    podsDir,
    disk,
    paths: mounted,
  }: {
    readonly podsDir: string;
    readonly disk: Pick<VolumeDisk, 'readFile'>;
    readonly paths: ReadonlySet<string>;
  },
): Promise<readonly MountedClaim[]> {
  const paths = podPaths(podsDir, pod.metadata.uid);
  const folders: MountedClaim[] = [];
  for (const volume of claimsOf(pod)) {
    const record = await readRecordedVolume(paths.claimFile(volume.name), disk);
    const kind = record?.source.kind;
    if (record === undefined || kind === 'hostPath') continue;
    if (record.isBlock && kind !== 'csi') continue;
    const folder = record.isBlock
      ? publishedDevice(podsDir, record.name, pod.metadata.uid)
      : kind === 'csi'
        ? paths.csiMount(record.name)
        : paths.volume('local', record.name);
    if (mounted.has(folder))
      folders.push({ volume, folder, source: record.source, isBlock: record.isBlock === true });
  }
  return folders;
}
