/**
 * Checks the use of volumes of CSI drivers. It knows the calls to drivers and their work, the mounts, and which containers run. It outlives the
 * agents of its node.
 */
import { dirname, join } from 'node:path';
import type { PodSpec } from '../../types/kubernetes.ts';
import { csiFolders } from '../drivers/csi-plan.ts';
import type { CsiWitness } from '../drivers/csi-driver-service.ts';
import type { MountWitness, SimulatedVolumeDisk } from '../drivers/simulated-volume-disk.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';

export interface CsiJudgeOptions {
  readonly disk: () => Pick<SimulatedVolumeDisk, 'files' | 'folders' | 'mounts'>;
  readonly podsDir: string;
  readonly specOf: (uid: string) => PodSpec | undefined;
  readonly runtime: () => { sandboxesOf(uid: string): Iterable<SandboxTruth> };
  /** The volumes whose drivers want them to be staged. */
  readonly staging: readonly string[];
  /** Those that a controller attaches. */
  readonly attachable: readonly string[];
  readonly isAttached: (volume: string) => boolean;
  readonly onPublished: () => void;
  readonly violated: (uid: string | undefined, what: string) => void;
}

export class CsiJudge implements CsiWitness, MountWitness {
  readonly #options: CsiJudgeOptions;
  readonly #staged = new Set<string>();
  /** By the path: the volume. */
  readonly #published = new Map<string, string>();
  /** Ids of containers whose start an agent has waited for. */
  readonly #awaited = new Set<string>();

  constructor(options: CsiJudgeOptions) {
    this.#options = options;
  }

  asked(path: string): void {
    const { disk } = this.#options;
    if (!disk().files.has(join(dirname(path), 'vol_data.json')))
      this.#violated(path, 'is mounted before the disk says by whom: a next agent could not unmount it');
  }

  stages(volume: string): void {
    const { attachable, isAttached } = this.#options;
    if (attachable.includes(volume) && !isAttached(volume))
      this.#violated('', `${volume} is staged, and not attached`);
    this.#staged.add(volume);
  }

  publishes(volume: string, target: string): void {
    if (this.#options.staging.includes(volume) && !this.#staged.has(volume))
      this.#violated(target, `${volume} is published without being staged`);
    this.#published.set(target, volume);
    this.#options.onPublished();
  }

  unpublishes(volume: string, target: string): void {
    if (!this.#published.delete(target)) return;
    const uid = this.#podOf(target);
    const [user] = uid === undefined ? [] : [...this.#running(uid)].filter(({ id }) => this.#awaited.has(id));
    if (user !== undefined)
      this.#violated(target, `${volume} is unpublished, and its container ${user.metadata.name} runs`);
  }

  unstages(volume: string): void {
    for (const [target, published] of this.#published)
      if (published === volume) this.#violated(target, `${volume} is unstaged while it is published`);
    this.#staged.delete(volume);
  }

  detached(volume: string): void {
    if (this.#staged.has(volume)) this.#violated('', `${volume} is let go to be detached, and is staged`);
  }

  unmountedByAgent(path: string): void {
    this.#violated(path, 'the agent has unmounted what a driver has mounted');
  }

  removedBelow(mount: string, folder: string): void {
    this.#violated(
      mount,
      `${folder} is removed with all that is in it, and a driver has mounted a volume there`,
    );
  }

  /** `isAwaited`: whether the agent that asked for the start still waits for it. */
  started({ id, uid, metadata }: ContainerTruth, isAwaited: boolean): void {
    if (!isAwaited) return;
    this.#awaited.add(id);
    for (const target of this.#targetsOf(uid))
      if (!this.#options.disk().mounts.has(target))
        this.#violated(target, `${metadata.name} starts, and its volume is not mounted`);
  }

  /** Something that is left although no pod is wanted. */
  get leftover(): string | undefined {
    const { disk, podsDir } = this.#options;
    const { mounts, folders } = disk();
    const [mount] = mounts.keys();
    if (mount !== undefined) return `${mount} is still mounted`;
    const [staged] = this.#staged;
    if (staged !== undefined) return `${staged} is still staged`;
    const folder = [...folders].find((path) => dirname(path) === podsDir || /\/[0-9a-f]{64}$/.test(path));
    return folder && `the folder ${folder} is left`;
  }

  #targetsOf(uid: string): readonly string[] {
    const { podsDir, specOf } = this.#options;
    const folders = csiFolders(specOf(uid));
    return folders.map((name) => join(podsDir, uid, 'volumes', 'kubernetes.io~csi', name, 'mount'));
  }

  #podOf(target: string): string | undefined {
    const prefix = `${this.#options.podsDir}/`;
    return target.startsWith(prefix) ? target.slice(prefix.length).split('/')[0] : undefined;
  }

  *#running(uid: string): Iterable<ContainerTruth> {
    for (const { containers } of this.#options.runtime().sandboxesOf(uid))
      for (const container of containers) if (container.state === 'CONTAINER_RUNNING') yield container;
  }

  #violated(path: string, what: string): void {
    this.#options.violated(this.#podOf(path), path === '' ? what : `${path}: ${what}`);
  }
}
