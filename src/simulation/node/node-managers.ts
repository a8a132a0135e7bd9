/** What gives the containers of a simulated agent something for themselves, put together as on a real node. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { DevicePlugins } from '../../agent/actors/devices/device-plugins.ts';
import type { NodeDevicePlugins } from '../../agent/actors/devices/node-device-plugins.ts';
import { DeviceManager } from '../../agent/runtime/devices/device-manager.ts';
import { deviceSubsystem } from '../../agent/runtime/devices/device-subsystem.ts';
import { DevicesFile } from '../../agent/runtime/devices/devices-file.ts';
import type { NodeParts, NodeView, PodSubsystem } from '../../agent/runtime/node/pod-node.ts';
import { TopologyManager } from '../../agent/runtime/topology/topology-manager.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { DevicePluginFolder, FolderUser } from '../devices/device-plugin-folder.ts';

/** Each outlives the agents; undefined: the node has nothing of the kind. */
export interface ManagedResources {
  readonly devices?: { readonly folder: DevicePluginFolder } & Pick<FolderUser, 'witness'>;
}

export interface NodeManagers extends Pick<NodeParts, 'devices'> {
  /** In the order in which a pod is prepared. */
  readonly subsystems: readonly PodSubsystem[];
  readonly devicePlugins: ((core: AgentCore) => NodeDevicePlugins) | undefined;
  start(view: NodeView): void;
  stop(): Promise<void>;
}

const NO_NUMA = { ids: [], distances: [] };

export function nodeManagers(context: AgentContext, { devices: ofHost }: ManagedResources): NodeManagers {
  if (ofHost === undefined)
    return {
      subsystems: [],
      devicePlugins: undefined,
      start: () => undefined,
      stop: () => Promise.resolve(),
    };
  const user = { clock: context.clock, witness: ofHost.witness };
  const { folder } = ofHost;
  const devices = new DeviceManager(context, '', new DevicesFile(folder.file(user), context.logger));
  const topology = new TopologyManager({
    policy: 'none',
    scope: 'container',
    numa: NO_NUMA,
    prefersClosest: false,
    providers: [devices],
  });
  return {
    devices,
    subsystems: [topology, deviceSubsystem(devices)],
    devicePlugins: (core) =>
      new DevicePlugins(core, {
        devices,
        listen: (register) => folder.listen(register, user),
        connect: (resource, endpoint) => folder.connect(resource, endpoint, user),
      }),
    start: (view) => devices.start(view.pods),
    stop: () => devices.stop(),
  };
}
