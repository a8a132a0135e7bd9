/** The CSI and DRA drivers of a hollow node, and what they have mounted and prepared there: both outlive its agents. */
import type { ClaimKey } from '../../agent/policies/dra/claim-devices.ts';
import { claimNameOf } from '../../agent/policies/volumes/claimed-volume.ts';
import type { Volume } from '../../agent/policies/volumes/volume-source.ts';
import type { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import { CsiDriverService, type DriverVolumes } from '../../simulation/drivers/csi-driver-service.ts';
import { DriverFolder } from '../../simulation/drivers/driver-folder.ts';
import type { DriverService } from '../../simulation/drivers/driver-process.ts';
import { SimulatedVolumeDisk } from '../../simulation/drivers/simulated-volume-disk.ts';
import { AgentDrivers, type AgentDriversOptions } from '../../simulation/node/agent-drivers.ts';
import { StateFiles } from '../../simulation/placement/state-files.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { systemClock } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { HollowPlan } from '../plan/hollow-plan.ts';

type DriversOfPlan = Pick<HollowPlan, 'csiDrivers' | 'draDrivers'>;

/** The volumes of the driver of that name. */
export type VolumesOf = (driver: string) => DriverVolumes | undefined;

const never = () => false;

export class HollowDrivers {
  readonly #folder: DriverFolder;
  readonly #disk: SimulatedVolumeDisk;
  readonly #host: AgentDriversOptions['host'];

  constructor(
    nodeId: string,
    { csiDrivers, draDrivers }: DriversOfPlan,
    { random, volumesOf }: { readonly random: KeyedRandom; readonly volumesOf: VolumesOf },
  ) {
    const life = { random, mayDie: never, killAgent: () => undefined };
    this.#disk = new SimulatedVolumeDisk(life);
    const habits = new Map(
      [...csiDrivers, ...draDrivers].flatMap(({ name, calls, callFailures: failures }) =>
        Object.entries(calls).map(([method, ms]) => [`${name}/${method}`, { ms, failures }] as const),
      ),
    );
    this.#folder = new DriverFolder({
      services: [
        ...csiDrivers.map(
          (driver) =>
            new CsiDriverService({ ...driver, nodeId, volumes: volumesOf(driver.name) }, this.#disk),
        ),
        ...draDrivers.map(({ name }) => new HollowDraService(name)),
      ],
      world: { random, misbehaves: never, habits: (name, method) => habits.get(`${name}/${method}`) },
      clock: systemClock,
    });
    this.#host = {
      folder: this.#folder,
      csi: csiDrivers.length > 0 ? { disk: this.#disk } : undefined,
      dra: draDrivers.length > 0 ? { files: new StateFiles(life) } : undefined,
    };
  }

  /** The machine starts: no mount has outlived its power. */
  powerOn(): void {
    this.#folder.restart();
    this.#disk.mounts.clear();
  }

  /** The parts of one agent for them. */
  forAgent(context: AgentContext, parts: Omit<AgentDriversOptions, 'host' | 'isOfDriver'>): AgentDrivers {
    return new AgentDrivers(context, {
      ...parts,
      host: this.#host,
      isOfDriver: claimReader(parts.objects),
    });
  }
}

/** A DRA driver whose devices need nothing in a container. */
class HollowDraService implements DriverService {
  readonly type = 'DRAPlugin';
  readonly versions = ['v1.DRAPlugin'];
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  subjectsOf(_method: string, request: unknown): readonly string[] {
    return ((request as Partial<ClaimsRequest>).claims ?? []).map(({ uid }) => uid);
  }

  asked(): void {
    // Nobody counts the calls.
  }

  carryOut(method: string, request: unknown): unknown {
    const uids = this.subjectsOf(method, request);
    return { claims: Object.fromEntries(uids.map((uid) => [uid, { devices: [], error: '' }])) };
  }
}

interface ClaimsRequest {
  readonly claims: readonly ClaimKey[];
}

/**
 * Whether a CSI driver has to set the volume up. Other PersistentVolumes are as good as set up. A claim that is not bound, or cannot be
 * read, counts as one of a driver: its pod waits.
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
    return spec === undefined ? undefined : spec.csi !== undefined;
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
