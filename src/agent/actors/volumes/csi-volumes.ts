/** The volumes of CSI drivers on this node. Each has an actor, from the first pod that wants it until it is unstaged. */
import type { CsiVolumeWish } from '../../machines/csi-volume-machine.ts';
import { type CsiSource, uniqueVolumeName } from '../../policies/volumes/csi-source.ts';
import type { VolumeWait } from '../../policies/pod/pod-wait.ts';
import { compareTexts } from '../../policies/formats/text-order.ts';
import type { CsiNode, CsiStaging } from '../../runtime/volumes/csi/csi-node.ts';
import type { CsiVolumeKey } from '../../runtime/volumes/csi/vol-data.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { CsiVolumeActor, type CsiVolumeParts } from './csi-volume-actor.ts';

export interface CsiVolumesParts {
  readonly csi: CsiNode;
  readonly attachReports: CsiVolumeParts['attachReports'];
  /** Called when `inUse` changes. */
  readonly onChange: () => void;
}

export class CsiVolumes implements CsiStaging {
  readonly #context: ActorContext;
  readonly #parts: CsiVolumesParts;
  /** By their names in the API. */
  readonly #volumes = new Map<string, CsiVolumeActor>();
  /** Resolves when the volumes of earlier agents are known, and which pods use them. */
  #found: Promise<void>;
  #isKnown = false;
  #hasUnreadable = false;
  #arePodsKnown = false;

  constructor(context: ActorContext, parts: CsiVolumesParts) {
    this.#context = context;
    this.#parts = parts;
    parts.csi.staging = this;
    this.#found = this.#find();
  }

  async use(wish: CsiVolumeWish, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    await this.#found;
    // Nobody would end the actor of a volume that no pod wants.
    signal.throwIfAborted();
    const known = this.#volumes.get(uniqueVolumeName(wish.source));
    if (known?.isLeft === false) return known.use(wish, signal);
    const used = this.#begin(wish.source, []).use(wish, signal);
    this.#parts.onChange();
    return used;
  }

  async leave(podUID: string, kept: ReadonlySet<string>): Promise<void> {
    await this.#found;
    for (const [name, volume] of this.#volumes)
      if (volume.snapshot.context.pods.includes(podUID) && !kept.has(name)) volume.leave(podUID);
  }

  /** All pods of this node are known: volumes that an earlier agent has staged and no pod uses are unstaged. */
  podsKnown(): void {
    if (this.#arePodsKnown) return;
    this.#arePodsKnown = true;
    void this.#found.then(() => {
      // Any of these volumes may be published with a `vol_data.json` that cannot be read.
      if (this.#hasUnreadable) return;
      for (const volume of this.#volumes.values()) volume.podsKnown();
    });
  }

  waitOf(podUID: string): VolumeWait | undefined {
    for (const { name, snapshot } of this.#volumes.values()) {
      const { pods, since } = snapshot.context;
      const step = snapshot.matches('Attaching')
        ? 'attached'
        : snapshot.matches('Staging')
          ? 'staged'
          : undefined;
      if (step !== undefined && pods.includes(podUID)) return { volume: name, step, since };
    }
    return undefined;
  }

  awaited(podUID: string): readonly CsiSource[] {
    return [...this.#volumes.values()].flatMap(({ snapshot }) => {
      const { pods, source } = snapshot.context;
      return source !== undefined && pods.includes(podUID) && !snapshot.matches('Staged') ? source : [];
    });
  }

  driverRegistered(driver: string): void {
    for (const volume of this.#volumes.values())
      if (volume.snapshot.context.driver === driver) volume.driverRegistered();
  }

  /** The pods that use volumes of the driver. */
  podsOf(driver: string): readonly string[] {
    const ofDriver = [...this.#volumes.values()].map(({ snapshot }) => snapshot.context);
    return ofDriver.filter((volume) => volume.driver === driver).flatMap(({ pods }) => pods);
  }

  /** The names of the volumes that a controller must not detach; undefined while they are not known. */
  inUse(): readonly string[] | undefined {
    if (!this.#isKnown) return undefined;
    const attachable = [...this.#volumes].filter(([, { snapshot }]) => snapshot.context.isAttachable);
    return attachable.map(([name]) => name).sort(compareTexts);
  }

  stop(): void {
    for (const volume of this.#volumes.values()) volume.stop();
    this.#parts.csi.drivers.close();
  }

  async #find(): Promise<void> {
    try {
      const { published, staged, hasUnreadable } = await this.#parts.csi.staged.found();
      this.#hasUnreadable = hasUnreadable;
      const all = new Map([...staged, ...published].map((volume) => [uniqueVolumeName(volume), volume]));
      for (const [name, volume] of all) {
        const pods = published.filter((one) => uniqueVolumeName(one) === name).map(({ podUID }) => podUID);
        this.#begin(volume, pods);
      }
      this.#isKnown = true;
      if (all.size > 0) this.#parts.onChange();
    } catch (error) {
      this.#context.logger.warn({}, `Cannot read which volumes are on this node: ${errorMessage(error)}`);
    }
  }

  #begin({ driver, handle, blockName }: CsiVolumeKey, pods: readonly string[]): CsiVolumeActor {
    const { csi, attachReports, onChange } = this.#parts;
    const volume = new CsiVolumeActor(
      this.#context,
      { driver, handle, blockName, pods },
      {
        staged: csi.staged,
        attachReports,
        onStep: (pods) => csi.waitChanges.next(pods),
        onGone: () => {
          if (this.#volumes.get(volume.name) === volume) this.#volumes.delete(volume.name);
          onChange();
        },
      },
    );
    this.#volumes.set(volume.name, volume);
    return volume;
  }
}
