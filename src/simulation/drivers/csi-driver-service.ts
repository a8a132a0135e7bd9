/** What a simulated CSI driver does for the volumes of its node. */
import { dirname } from 'node:path';
import type { CsiUsage } from '../../agent/policies/volumes/csi-figures.ts';
import type { CsiCapability } from '../../agent/policies/volumes/csi-source.ts';
import type {
  ExpandRequest,
  PublishRequest,
  StageRequest,
} from '../../agent/runtime/volumes/csi/csi-messages.ts';
import { StateletError } from '../../types/errors.ts';
import type { DriverService } from './driver-process.ts';
import type { SimulatedVolumeDisk } from './simulated-volume-disk.ts';

/** Sees the calls of agents to CSI drivers, and what the drivers do. A volume is named by `uniqueVolumeName`. */
export interface CsiWitness {
  /** An agent asks for a mount at that path. */
  asked(path: string): void;
  /** The driver is about to do it. */
  stages(volume: string): void;
  publishes(volume: string, target: string): void;
  unpublishes(volume: string, target: string): void;
  unstages(volume: string): void;
}

/** The volumes of a driver, by their handles, wherever they are used. */
export interface DriverVolumes {
  /** Undefined for a volume that is not known. */
  usage(handle: string): readonly CsiUsage[] | undefined;
  /** The file system is so large now. */
  expand(handle: string, bytes: number): void;
}

/** What the driver tells of itself. */
export interface CsiDriverTraits {
  readonly name: string;
  readonly isStaging: boolean;
  /** Default: `node`. */
  readonly nodeId?: string;
  /** Undefined: no limit. */
  readonly maxVolumes?: number | undefined;
  /** Undefined: its volumes can be used on each node. */
  readonly topology?: Readonly<Record<string, string>> | undefined;
  /** Undefined: the driver neither expands its volumes nor has figures of them. */
  readonly volumes?: DriverVolumes | undefined;
}

type NodeRequest = Partial<PublishRequest & StageRequest & ExpandRequest>;

export class CsiDriverService implements DriverService {
  readonly type = 'CSIPlugin';
  readonly name: string;
  readonly versions = ['1.5.0'];
  readonly #traits: CsiDriverTraits;
  readonly #disk: SimulatedVolumeDisk;
  readonly #witness: CsiWitness | undefined;

  constructor(traits: CsiDriverTraits, disk: SimulatedVolumeDisk, witness?: CsiWitness) {
    this.name = traits.name;
    this.#traits = traits;
    this.#disk = disk;
    this.#witness = witness;
  }

  subjectsOf(_method: string, request: unknown): readonly string[] {
    const { volumeId } = request as NodeRequest;
    return volumeId === undefined ? [] : [volumeId];
  }

  asked(method: string, request: unknown): void {
    const { targetPath = '', stagingPath = '' } = request as NodeRequest;
    if (method === 'NodeStageVolume') this.#witness?.asked(stagingPath);
    if (method === 'NodePublishVolume') this.#witness?.asked(targetPath);
  }

  carryOut(method: string, request: unknown): unknown {
    const { volumeId = '', stagingPath = '', targetPath = '', range } = request as NodeRequest;
    const volume = this.#nameOf(volumeId);
    const { mounts } = this.#disk;
    switch (method) {
      case 'NodeGetInfo':
        return this.#info();
      case 'NodeGetCapabilities':
        return { capabilities: this.#capabilities().map((type) => ({ rpc: { type } })) };
      case 'NodeStageVolume':
        if (!this.#disk.folders.has(stagingPath)) throw missing(stagingPath);
        this.#witness?.stages(volume);
        mounts.set(stagingPath, volume);
        return {};
      case 'NodePublishVolume':
        this.#publish(volume, request as NodeRequest);
        return {};
      case 'NodeUnpublishVolume':
        this.#witness?.unpublishes(volume, targetPath);
        mounts.delete(targetPath);
        this.#disk.folders.delete(targetPath);
        this.#disk.files.delete(targetPath);
        return {};
      case 'NodeUnstageVolume':
        this.#witness?.unstages(volume);
        mounts.delete(stagingPath);
        return {};
      case 'NodeExpandVolume':
        this.#traits.volumes?.expand(volumeId, range?.requiredBytes ?? 0);
        return {};
      case 'NodeGetVolumeStats':
        return { usage: this.#usage(volumeId) };
      default:
        throw new StateletError('Unimplemented', method);
    }
  }

  #capabilities(): readonly CsiCapability[] {
    const { isStaging, volumes } = this.#traits;
    return [
      ...(isStaging ? (['STAGE_UNSTAGE_VOLUME'] as const) : []),
      ...(volumes ? (['EXPAND_VOLUME', 'GET_VOLUME_STATS'] as const) : []),
    ];
  }

  #usage(handle: string): readonly CsiUsage[] {
    const usage = this.#traits.volumes?.usage(handle);
    if (usage === undefined) throw new StateletError('NotFound', `there is no volume ${handle}`);
    return usage;
  }

  #info(): object {
    const { nodeId = 'node', maxVolumes = 0, topology } = this.#traits;
    return { nodeId, maxVolumes, topology: topology && { segments: topology } };
  }

  #publish(volume: string, { targetPath: target = '', capability }: NodeRequest): void {
    if (!this.#disk.folders.has(dirname(target))) throw missing(dirname(target));
    this.#witness?.publishes(volume, target);
    if (capability?.block) this.#disk.files.set(target, '');
    else this.#disk.mkdir(target);
    this.#disk.mounts.set(target, volume);
  }

  #nameOf(handle: string): string {
    return `kubernetes.io/csi/${this.name}^${handle}`;
  }
}

const missing = (folder: string) => new StateletError('NotFound', `there is no folder ${folder}`);
