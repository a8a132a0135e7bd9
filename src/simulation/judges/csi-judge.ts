/**
 * Checks the use of volumes of CSI drivers. It knows the calls to drivers and their work, the mounts, and which containers run. It outlives the
 * agents of its node.
 */
import { basename, dirname, join } from 'node:path';
import type { PodSpec } from '../../types/kubernetes.ts';
import { csiVolumeOf } from '../drivers/csi-plan.ts';
import type { CsiWitness } from '../drivers/csi-driver-service.ts';
import type { MountWitness, SimulatedVolumeDisk } from '../drivers/simulated-volume-disk.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';

export interface CsiJudgeOptions {
  readonly disk: () => Pick<SimulatedVolumeDisk, 'files' | 'folders' | 'links' | 'mounts'>;
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
    const { files, links } = this.#options.disk();
    const device = this.#deviceAt(path);
    const record = join(device ? join(device.folder, 'data') : dirname(path), 'vol_data.json');
    const isFound = device?.link === undefined || links.has(device.link);
    if (!files.has(record) || !isFound)
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
    const mapped = this.#deviceAt(target)?.mount;
    if (mapped !== undefined && this.#options.disk().mounts.has(mapped))
      this.#violated(target, `${volume} is unpublished, and still mapped for the pod`);
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
    const { mounts, folders, links } = disk();
    const [mount] = mounts.keys();
    if (mount !== undefined) return `${mount} is still mounted`;
    const [link] = links.keys();
    if (link !== undefined) return `the link ${link} is left`;
    const [staged] = this.#staged;
    if (staged !== undefined) return `${staged} is still staged`;
    const isOfVolume = (path: string) =>
      /\/[0-9a-f]{64}$/.test(path) ||
      (dirname(path) === this.#devicesDir && !['staging', 'publish'].includes(basename(path)));
    const folder = [...folders].find((path) => dirname(path) === podsDir || isOfVolume(path));
    return folder && `the folder ${folder} is left`;
  }

  #targetsOf(uid: string): readonly string[] {
    const { podsDir, specOf } = this.#options;
    const volume = csiVolumeOf(specOf(uid));
    if (volume === undefined) return [];
    const { name, isDevice } = volume;
    if (!isDevice) return [join(podsDir, uid, 'volumes', 'kubernetes.io~csi', name, 'mount')];
    return [join(this.#devicesDir, 'publish', name, uid), join(this.#devicesDir, name, 'dev', uid)];
  }

  /** Where the kubelet keeps block devices of CSI drivers. */
  get #devicesDir(): string {
    return join(dirname(this.#options.podsDir), 'plugins/kubernetes.io/csi/volumeDevices');
  }

  /** The block device that a driver stages, or publishes for a pod, at that path. */
  #deviceAt(path: string): { folder: string; uid?: string; link?: string; mount?: string } | undefined {
    const dir = `${this.#devicesDir}/`;
    if (!path.startsWith(dir)) return undefined;
    const [, name = '', uid] = path.slice(dir.length).split('/');
    const folder = join(dir, name);
    if (uid === undefined) return { folder };
    const link = join(this.#options.podsDir, uid, 'volumeDevices/kubernetes.io~csi', name);
    return { folder, uid, link, mount: join(folder, 'dev', uid) };
  }

  #podOf(target: string): string | undefined {
    const device = this.#deviceAt(target);
    if (device) return device.uid;
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
