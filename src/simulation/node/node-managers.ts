/** The managers of devices, CPUs and memory of a simulated agent, put together as on a real node. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { DevicePlugins } from '../../agent/actors/devices/device-plugins.ts';
import type { NodeDevicePlugins } from '../../agent/actors/devices/node-device-plugins.ts';
import type { StaticCpus } from '../../agent/policies/cpus/static-cpus.ts';
import { CPU_STATE_FILE } from '../../agent/runtime/cpus/cpu-state-file.ts';
import { CpuManager } from '../../agent/runtime/cpus/cpu-manager.ts';
import { cpuSubsystem } from '../../agent/runtime/cpus/cpu-subsystem.ts';
import { CpusetUpdates } from '../../agent/runtime/cpus/cpuset-updates.ts';
import { DeviceManager } from '../../agent/runtime/devices/device-manager.ts';
import { deviceSubsystem } from '../../agent/runtime/devices/device-subsystem.ts';
import { DevicesFile } from '../../agent/runtime/devices/devices-file.ts';
import { MemoryManager } from '../../agent/runtime/memory-manager/memory-manager.ts';
import { MEMORY_STATE_FILE } from '../../agent/runtime/memory-manager/memory-state-file.ts';
import { memorySubsystem } from '../../agent/runtime/memory-manager/memory-subsystem.ts';
import type { NodeParts, NodeView, PodSubsystem } from '../../agent/runtime/node/pod-node.ts';
import type { ResizingRuntime } from '../../agent/runtime/service/runtime-service.ts';
import type { HintProvider } from '../../agent/runtime/topology/hint-provider.ts';
import { TopologyManager } from '../../agent/runtime/topology/topology-manager.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { DevicePluginFolder, FolderUser } from '../devices/device-plugin-folder.ts';
import type { PlacementPlan } from '../placement/placement-plan.ts';
import type { StateFiles } from '../placement/state-files.ts';

/** Each outlives the agents; undefined: the node has nothing of the kind. */
export interface ManagedResources {
  readonly devices?: { readonly folder: DevicePluginFolder } & Pick<FolderUser, 'witness'>;
  /** CPUs and memory of NUMA nodes. */
  readonly placement?: ManagedPlaces;
}

interface ManagedPlaces extends Pick<PlacementPlan, 'numa' | 'policy' | 'scope' | 'memory'> {
  /** Undefined: all containers share all CPUs. */
  readonly cpus: StaticCpus | undefined;
  readonly files: StateFiles;
  readonly runtime: Pick<ResizingRuntime, 'updateContainerResources'>;
}

export interface NodeManagers extends Pick<NodeParts, 'devices' | 'cpus' | 'memory'> {
  /** In the order in which a pod is prepared. */
  readonly subsystems: readonly PodSubsystem[];
  readonly devicePlugins: ((core: AgentCore) => NodeDevicePlugins) | undefined;
  start(view: NodeView): void;
  stop(): Promise<void>;
}

/** One of the kinds. */
interface Managed {
  readonly providers: readonly HintProvider[];
  readonly subsystems: readonly PodSubsystem[];
  start(view: NodeView): void;
  stop(): Promise<void>;
}

const NO_NUMA = { ids: [], distances: [] };
const RECONCILE_PERIOD_MS = 10_000;

export function nodeManagers(
  context: AgentContext,
  { devices: ofHost, placement }: ManagedResources,
): NodeManagers {
  const user = ofHost && { clock: context.clock, witness: ofHost.witness };
  const devices =
    ofHost &&
    user &&
    new DeviceManager(context, '', new DevicesFile(ofHost.folder.file(user), context.logger));
  const places = placement && managedPlaces(context, placement);
  const kinds = [devices && managedDevices(devices), places].filter((kind) => kind !== undefined);
  const topology = new TopologyManager({
    policy: placement?.policy ?? 'none',
    scope: placement?.scope ?? 'container',
    numa: placement?.numa ?? NO_NUMA,
    prefersClosest: false,
    providers: kinds.flatMap(({ providers }) => providers),
  });
  return {
    ...(devices && { devices }),
    cpus: places?.cpus,
    memory: places?.memory,
    subsystems: kinds.length === 0 ? [] : [topology, ...kinds.flatMap(({ subsystems }) => subsystems)],
    devicePlugins:
      ofHost && user && devices
        ? (core) => {
            const plugins = new DevicePlugins(core, {
              devices,
              listen: (register) => ofHost.folder.listen(register, user),
              connect: (resource, endpoint) => ofHost.folder.connect(resource, endpoint, user),
            });
            ofHost.folder.watchedBy(plugins.handlers);
            return plugins;
          }
        : undefined,
    start: (view) => kinds.forEach((kind) => kind.start(view)),
    stop: async () => {
      await Promise.all(kinds.map((kind) => kind.stop()));
    },
  };
}

function managedDevices(devices: DeviceManager): Managed {
  return {
    providers: [devices],
    subsystems: [deviceSubsystem(devices)],
    start: (view) => devices.start(view),
    stop: () => devices.stop(),
  };
}

function managedPlaces(
  context: AgentContext,
  { cpus: settings, memory: machine, files, runtime }: ManagedPlaces,
): Managed & Pick<NodeManagers, 'cpus' | 'memory'> {
  const cpus = settings && CpuManager.open(files.file(CPU_STATE_FILE, context.clock), settings);
  const memory = machine && MemoryManager.open(files.file(MEMORY_STATE_FILE, context.clock), machine);
  const updates = cpus && cpusetUpdates(context, cpus, runtime);
  return {
    cpus,
    memory,
    providers: [cpus, memory].filter((provider) => provider !== undefined),
    subsystems: [
      ...(cpus && updates ? [cpuSubsystem(cpus, updates, true)] : []),
      ...(memory ? [memorySubsystem(memory)] : []),
    ],
    start: (view) => updates?.start(view),
    stop: async () => updates?.stop(),
  };
}

function cpusetUpdates(
  context: AgentContext,
  cpus: CpuManager,
  runtime: ManagedPlaces['runtime'],
): CpusetUpdates {
  const cpusetOf = (uid: string, name: string) => cpus.cpusetOf(uid, name);
  const updates = new CpusetUpdates(context, { runtime, cpusetOf, periodMs: RECONCILE_PERIOD_MS });
  cpus.onShared = () => updates.update();
  return updates;
}
