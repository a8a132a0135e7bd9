/** The CSI drivers of a hollow node, and what they have mounted there: both outlive its agents. */
import { claimNameOf } from '../../agent/policies/volumes/claimed-volume.ts';
import type { Volume } from '../../agent/policies/volumes/volume-source.ts';
import type { CsiDeps } from '../../agent/actors/volumes/open-csi.ts';
import type { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import { CsiDriverService } from '../../simulation/drivers/csi-driver-service.ts';
import { DriverFolder } from '../../simulation/drivers/driver-folder.ts';
import { SimulatedVolumeDisk } from '../../simulation/drivers/simulated-volume-disk.ts';
import { AgentDrivers } from '../../simulation/node/agent-drivers.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { systemClock } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type HollowCsiDriver, isDriverCall } from '../plan/csi-drivers.ts';

const never = () => false;

export class HollowDrivers {
  readonly #folder: DriverFolder;
  readonly #disk: SimulatedVolumeDisk;

  constructor(nodeId: string, drivers: readonly HollowCsiDriver[], random: KeyedRandom) {
    this.#disk = new SimulatedVolumeDisk({ random, mayDie: never, killAgent: () => undefined });
    const habits = (name: string, method: string) => {
      const driver = drivers.find((one) => one.name === name);
      return driver && isDriverCall(method)
        ? { ms: driver.calls[method], failures: driver.callFailures }
        : undefined;
    };
    this.#folder = new DriverFolder({
      services: drivers.map((driver) => new CsiDriverService({ ...driver, nodeId }, this.#disk)),
      world: { random, misbehaves: never, habits },
      clock: systemClock,
    });
  }

  /** The machine starts: no mount has outlived its power. */
  powerOn(): void {
    this.#folder.restart();
    this.#disk.mounts.clear();
  }

  /** The parts of one agent for them. */
  forAgent(
    context: AgentContext,
    parts: {
      readonly cluster: CsiDeps['cluster'];
      readonly nodeName: string;
      readonly objects: ServerObjects;
      readonly isAlive: () => boolean;
    },
  ): AgentDrivers {
    return new AgentDrivers(context, {
      ...parts,
      host: { folder: this.#folder, csi: { disk: this.#disk } },
      isOfDriver: claimReader(parts.objects),
    });
  }
}

/**
 * Whether a CSI driver has to set the volume up. Other PersistentVolumes, and those of block devices, are as good as set up. A claim that
 * is not bound, or cannot be read, counts as one of a driver: its pod waits.
 */
export function claimReader(
  objects: Pick<ServerObjects, 'persistentVolumeClaim' | 'persistentVolume'>,
): (pod: Pod, volume: Volume) => Promise<boolean> {
  /** What a bound claim says stays true. By pod, the names of its volumes. */
  const known = new WeakMap<Pod, Map<string, boolean>>();
  const read = async ({ metadata }: Pod, claimName: string): Promise<boolean | undefined> => {
    const claim = await objects.persistentVolumeClaim(metadata.namespace, claimName);
    const { volumeName = '' } = claim?.spec ?? {};
    if (claim?.status?.phase !== 'Bound' || volumeName === '') return undefined;
    const spec = (await objects.persistentVolume(volumeName))?.spec;
    if (spec === undefined) return undefined;
    return spec.csi !== undefined && spec.volumeMode !== 'Block';
  };
  return async (pod, volume) => {
    if (volume.csi) return true;
    const claimName = claimNameOf(pod, volume);
    if (claimName === undefined) return false;
    const ofPod = known.get(pod) ?? new Map<string, boolean>();
    known.set(pod, ofPod);
    const before = ofPod.get(volume.name);
    if (before !== undefined) return before;
    const is = await read(pod, claimName).catch(() => undefined);
    if (is !== undefined) ofPod.set(volume.name, is);
    return is ?? true;
  };
}
