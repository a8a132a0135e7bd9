/** What a simulated CSI driver does for the volumes of its node. */
import { dirname } from 'node:path';
import type { PublishRequest, StageRequest } from '../../agent/runtime/volumes/csi/csi-messages.ts';
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
}

type NodeRequest = Partial<PublishRequest & StageRequest>;

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
    const { volumeId = '', stagingPath = '', targetPath = '' } = request as NodeRequest;
    const volume = this.#nameOf(volumeId);
    const { mounts } = this.#disk;
    switch (method) {
      case 'NodeGetInfo':
        return this.#info();
      case 'NodeGetCapabilities':
        return { capabilities: this.#traits.isStaging ? [{ rpc: { type: 'STAGE_UNSTAGE_VOLUME' } }] : [] };
      case 'NodeStageVolume':
        if (!this.#disk.folders.has(stagingPath)) throw missing(stagingPath);
        this.#witness?.stages(volume);
        mounts.set(stagingPath, volume);
        return {};
      case 'NodePublishVolume':
        this.#publish(volume, targetPath);
        return {};
      case 'NodeUnpublishVolume':
        this.#witness?.unpublishes(volume, targetPath);
        mounts.delete(targetPath);
        this.#disk.folders.delete(targetPath);
        return {};
      case 'NodeUnstageVolume':
        this.#witness?.unstages(volume);
        mounts.delete(stagingPath);
        return {};
      default:
        throw new StateletError('Unimplemented', method);
    }
  }

  #info(): object {
    const { nodeId = 'node', maxVolumes = 0, topology } = this.#traits;
    return { nodeId, maxVolumes, topology: topology && { segments: topology } };
  }

  #publish(volume: string, target: string): void {
    if (!this.#disk.folders.has(dirname(target))) throw missing(dirname(target));
    this.#witness?.publishes(volume, target);
    this.#disk.mkdir(target);
    this.#disk.mounts.set(target, volume);
  }

  #nameOf(handle: string): string {
    return `kubernetes.io/csi/${this.name}^${handle}`;
  }
}

const missing = (folder: string) => new StateletError('NotFound', `there is no folder ${folder}`);
