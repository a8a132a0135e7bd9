/** What a node has for its pods beside the runtime: devices, exclusive CPUs, drivers. It outlives the agents. */
import type { ContainerConfig } from '../../types/cri.ts';
import type { Pod, PodSpec, PodStatus } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import { DevicePluginFolder } from '../devices/device-plugin-folder.ts';
import { type DevicesPlan, withDevices } from '../devices/devices-plan.ts';
import { withCsiVolume } from '../drivers/csi-plan.ts';
import { withClaim } from '../drivers/dra-plan.ts';
import type { HostDrivers } from '../drivers/host-drivers.ts';
import { type DriversPlan, openHostDrivers } from '../drivers/open-host-drivers.ts';
import { DevicesJudge } from '../judges/devices-judge.ts';
import { PlacementJudge } from '../judges/placement-judge.ts';
import { type PlacementPlan, withOwnCpus } from '../placement/placement-plan.ts';
import { StateFiles } from '../placement/state-files.ts';
import type { Fault } from '../plan/fault-kinds.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { ContainerTruth } from '../runtime/witness.ts';
import type { HostContext } from './host-context.ts';
import type { SourceName } from './simulated-sources.ts';

/** Each is undefined for a node that has nothing of the kind. */
export interface EquipmentPlan {
  readonly devices?: DevicesPlan | undefined;
  /** CPUs and memory that are kept for containers. */
  readonly placement?: PlacementPlan | undefined;
  readonly drivers?: DriversPlan | undefined;
}

interface NodeEquipmentParts {
  readonly plan: EquipmentPlan;
  readonly api: SimulatedApiServer;
  readonly runtime: () => SimulatedRuntime;
  /** The agent dies while it writes a file of that subject. */
  readonly killAgent: (subject: keyof EquipmentPlan) => void;
}

interface HostDevices {
  readonly folder: DevicePluginFolder;
  readonly judge: DevicesJudge;
}

interface HostPlacement {
  readonly plan: PlacementPlan;
  readonly files: StateFiles;
  readonly judge: PlacementJudge;
}

export class NodeEquipment {
  readonly devices: HostDevices | undefined;
  readonly placement: HostPlacement | undefined;
  readonly drivers: HostDrivers | undefined;
  readonly #context: HostContext;
  readonly #parts: NodeEquipmentParts;

  constructor(context: HostContext, parts: NodeEquipmentParts) {
    this.#context = context;
    this.#parts = parts;
    const { devices, placement, drivers } = parts.plan;
    this.devices = devices && this.#openDevices(devices);
    this.placement = placement && this.#openPlacement(placement);
    this.drivers = drivers?.csi || drivers?.dra ? this.#openDrivers(drivers) : undefined;
  }

  /** Adds requests for the node's own devices and CPUs to a new pod, and for volumes and claims to a pod of the API server. */
  equipped(planned: PodSpec, uid: string, source: SourceName): PodSpec {
    const { random } = this.#context;
    const { devices, placement, drivers } = this.#parts.plan;
    const pinned = placement ? withOwnCpus(planned, uid, random) : planned;
    const spec = devices ? withDevices(pinned, uid, devices, random) : pinned;
    if (source !== 'api') return spec;
    const mounting = drivers?.csi ? withCsiVolume(spec, uid, drivers.csi, random) : spec;
    return drivers?.dra ? withClaim(mounting, uid, drivers.dra, random) : mounting;
  }

  /** The agent has made the configuration of a container. */
  configured(pod: Pod, config: ContainerConfig): void {
    this.devices?.judge.configured(pod, config);
    this.drivers?.dra?.judge.configured(pod, config);
  }

  /** `isAwaited`: the agent waits for the start. */
  started(container: ContainerTruth, isAwaited: boolean): void {
    const { csi, dra } = this.drivers ?? {};
    for (const kind of [this.devices, this.placement, csi, dra]) kind?.judge.started(container, isAwaited);
  }

  /**
   * To be called as often as an agent does its housekeeping. `isAtWork`: it knows its pods, and the runtime answers. `settled`: the
   * statuses of the pods for which it does nothing then.
   */
  housekeeping(
    isAtWork: boolean,
    settled: () => readonly (readonly [string, PodStatus | undefined])[],
  ): void {
    this.placement?.judge.housekeeping(isAtWork);
    this.drivers?.dra?.slices.housekeeping(isAtWork);
    this.devices?.judge.housekeeping(isAtWork ? settled() : []);
  }

  /** From now on plugins and drivers do not misbehave. */
  calm(): void {
    this.devices?.folder.calm();
    this.drivers?.folder.restart();
  }

  #openDevices(plan: DevicesPlan): HostDevices {
    const { clock, random, tally, tell, violated } = this.#context;
    const { runtime, killAgent } = this.#parts;
    const folder = new DevicePluginFolder({
      plan,
      world: { random, misbehaves: () => this.#may('devices') },
      clock,
      mayDie: () => this.#may('devices', 'agent'),
      killAgent: () => killAgent('devices'),
      tell,
    });
    const judge = new DevicesJudge({
      resources: plan.resources.map(({ resource }) => resource),
      now: () => clock.now(),
      checkpoint: () => folder.checkpoint,
      runtime,
      onAsked: () => (tally.devicesAsked += 1),
      violated: (uid, what) => violated({ invariant: 'devices', uid, what }),
    });
    return { folder, judge };
  }

  #openPlacement(plan: PlacementPlan): HostPlacement {
    const { clock, random, pods, tally, violated } = this.#context;
    const { runtime, killAgent } = this.#parts;
    const mayDie = () => this.#may('agent');
    const files = new StateFiles({ random, mayDie, killAgent: () => killAgent('placement') });
    const judge = new PlacementJudge({
      plan,
      now: () => clock.now(),
      specsOf: (uid) => pods.specsOf(uid),
      runtime,
      textOf: (file) => files.text(file),
      onPinned: () => (tally.pinned += 1),
      violated: (uid, what) => violated({ invariant: 'placement', uid, what }),
    });
    return { plan, files, judge };
  }

  #openDrivers(plan: DriversPlan): HostDrivers {
    const { api, runtime, killAgent } = this.#parts;
    return openHostDrivers(this.#context, {
      plan,
      api,
      misbehaves: () => this.#may('drivers'),
      mayDie: () => this.#may('drivers', 'agent'),
      killAgent: () => killAgent('drivers'),
      runtime,
    });
  }

  #may(...faults: readonly Fault[]): boolean {
    const on = this.#context.faults();
    return faults.every((fault) => on.has(fault));
  }
}
