/** The controller that attaches volumes of CSI drivers to a simulated node, together with the external attacher. */
import { attachmentName } from '../../agent/runtime/volumes/csi/csi-names.ts';
import { uniqueVolumeName } from '../../agent/policies/volumes/csi-source.ts';
import type { Clock } from '../../types/clock.ts';
import type { Node, Pod, VolumeAttachment } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import type { CsiPlan } from './csi-plan.ts';

export interface AttachControllerOptions {
  readonly plan: CsiPlan;
  readonly api: SimulatedApiServer;
  readonly clock: Clock;
  readonly random: KeyedRandom;
  readonly misbehaves: () => boolean;
  /** The volume is detached from the node now. */
  readonly onDetach: (volume: string) => void;
}

interface Attachable {
  readonly driver: string;
  readonly handle: string;
}

const PERIOD_MS = 1_000;
const FAILS = 0.1;

export class AttachController {
  readonly #options: AttachControllerOptions;
  readonly #volumes: readonly Attachable[];
  #turns = 0;

  constructor(options: AttachControllerOptions) {
    this.#options = options;
    this.#volumes = options.plan.drivers
      .filter(({ isAttached }) => isAttached)
      .flatMap(({ name: driver, handles }) => handles.map((handle) => ({ driver, handle })));
    this.#turnLater();
  }

  /** A volume that is attached although no pod needs it. */
  get leftover(): string | undefined {
    const attached = this.#volumes.find((volume) => this.#attachment(volume) !== undefined);
    return attached && uniqueVolumeName(attached);
  }

  isAttached(name: string): boolean {
    const volume = this.#volumes.find((one) => uniqueVolumeName(one) === name);
    return volume !== undefined && this.#attachment(volume)?.status?.attached === true;
  }

  #turnLater(): void {
    this.#options.clock.setTimeout(() => {
      for (const volume of this.#volumes) this.#look(volume);
      this.#turnLater();
    }, PERIOD_MS);
  }

  #look(volume: Attachable): void {
    const node = this.#node();
    if (node === undefined) return;
    const name = uniqueVolumeName(volume);
    const attachment = this.#attachment(volume);
    const isReported = (node.status?.volumesAttached ?? []).some((one) => one.name === name);
    if (this.#isWanted(volume)) {
      if (attachment === undefined) this.#begin(volume);
      else if (attachment.status?.attached !== true) this.#finish(volume);
      else if (!isReported) this.#report(node, name, true);
    } else if (attachment !== undefined && node.status?.volumesInUse?.includes(name) !== true) {
      // The status of the node changes before the volume is detached.
      if (isReported) this.#report(node, name, false);
      else this.#detach(volume);
    }
  }

  #begin({ driver, handle }: Attachable): void {
    const { api } = this.#options;
    const spec = { attacher: driver, nodeName: api.nodeName, source: { persistentVolumeName: handle } };
    const status = { attached: false };
    const metadata = { name: attachmentName({ driver, handle }, api.nodeName) };
    api.operations.create({ resource: 'volumeattachments' }, { metadata, spec, ...{ status } });
  }

  #finish(volume: Attachable): void {
    const { api, random, misbehaves } = this.#options;
    const fails = misbehaves() && random(`csi/attach/${String(++this.#turns)}`) < FAILS;
    const status = fails
      ? { attached: false, attachError: { message: 'the disk is busy' } }
      : { attached: true, attachError: null, attachmentMetadata: { device: volume.handle } };
    api.operations.patch(this.#target(volume), { status });
  }

  #detach(volume: Attachable): void {
    this.#options.onDetach(uniqueVolumeName(volume));
    this.#options.api.operations.delete(this.#target(volume));
  }

  #report(node: Node, name: string, isAttached: boolean): void {
    const { api } = this.#options;
    const others = (node.status?.volumesAttached ?? []).filter((one) => one.name !== name);
    const volumesAttached = isAttached ? [...others, { name, devicePath: '' }] : others;
    const target = { resource: 'nodes', name: api.nodeName, subresource: 'status' } as const;
    api.operations.patch(target, { status: { volumesAttached } });
  }

  #isWanted({ handle }: Attachable): boolean {
    const pods = this.#options.api.store.list('pods') as unknown as readonly Pod[];
    return pods.some(
      ({ spec, status }) =>
        status?.phase !== 'Succeeded' &&
        status?.phase !== 'Failed' &&
        spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === handle) === true,
    );
  }

  #target(volume: Attachable) {
    const name = attachmentName(volume, this.#options.api.nodeName);
    return { resource: 'volumeattachments', name } as const;
  }

  #attachment(volume: Attachable): VolumeAttachment | undefined {
    const found: unknown = this.#options.api.store.get('volumeattachments', this.#target(volume));
    return found as VolumeAttachment | undefined;
  }

  #node(): Node | undefined {
    const { store, nodeName } = this.#options.api;
    return store.get('nodes', { name: nodeName });
  }
}
