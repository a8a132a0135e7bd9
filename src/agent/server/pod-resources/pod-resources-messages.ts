/** Messages of the kubelet's PodResources API, v1 and v1alpha1: field numbers as in its `api.proto`. */
import type { Method } from '../../../system/grpc/method.ts';
import { field, int, list, message, type MessageType, string } from '../../../system/protobuf.ts';

interface TopologyInfo {
  readonly nodes: readonly { readonly ID: number }[];
}

export interface ContainerDevices {
  readonly resourceName: string;
  readonly deviceIDs: readonly string[];
  readonly topology: TopologyInfo | undefined;
}

export interface ContainerMemory {
  readonly memoryType: string;
  readonly size: number;
  readonly topology: TopologyInfo | undefined;
}

interface ClaimResource {
  readonly cdiDevices: readonly { readonly name: string }[];
  readonly driverName: string;
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId: string;
}

export interface DynamicResource {
  readonly claimName: string;
  readonly claimNamespace: string;
  readonly claimResources: readonly ClaimResource[];
}

interface ContainerResources extends AllocatableResources {
  readonly name: string;
  readonly dynamicResources: readonly DynamicResource[];
}

export interface PodResources {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerResources[];
}

export interface AllocatableResources {
  readonly devices: readonly ContainerDevices[];
  readonly cpuIDs: readonly number[];
  readonly memory: readonly ContainerMemory[];
}

const empty = message<object>({});
const topologyInfo = message<TopologyInfo>({ nodes: list(1, message({ ID: field(1, int) })) });

const containerDevices = message<ContainerDevices>({
  resourceName: field(1, string),
  deviceIDs: list(2, string),
  topology: field(3, topologyInfo),
});
const containerMemory = message<ContainerMemory>({
  memoryType: field(1, string),
  size: field(2, int),
  topology: field(3, topologyInfo),
});
const dynamicResource = message<DynamicResource>({
  claimName: field(2, string),
  claimNamespace: field(3, string),
  claimResources: list(
    4,
    message<ClaimResource>({
      cdiDevices: list(1, message<{ name: string }>({ name: field(1, string) })),
      driverName: field(2, string),
      poolName: field(3, string),
      deviceName: field(4, string),
      shareId: field(5, string),
    }),
  ),
});
const podResources = message<PodResources>({
  name: field(1, string),
  namespace: field(2, string),
  containers: list(
    3,
    message<ContainerResources>({
      name: field(1, string),
      devices: list(2, containerDevices),
      cpuIDs: list(3, int),
      memory: list(4, containerMemory),
      dynamicResources: list(5, dynamicResource),
    }),
  ),
});

export interface ListedPods {
  readonly podResources: readonly PodResources[];
}
const listed = message<ListedPods>({ podResources: list(1, podResources) });

function method<Q, A>(
  version: string,
  name: string,
  request: MessageType<Q>,
  response: MessageType<A>,
): Method<Q, A> {
  return { name, path: `/${version}.PodResourcesLister/${name}`, request, response };
}

export const LIST = method('v1', 'List', empty, listed);

/** Its containers have names and devices, without the topology of these. */
export const LIST_ALPHA = method('v1alpha1', 'List', empty, listed);

export const GET_ALLOCATABLE = method(
  'v1',
  'GetAllocatableResources',
  empty,
  message<AllocatableResources>({
    devices: list(1, containerDevices),
    cpuIDs: list(2, int),
    memory: list(3, containerMemory),
  }),
);

export const GET = method(
  'v1',
  'Get',
  message<{ podName: string; podNamespace: string }>({
    podName: field(1, string),
    podNamespace: field(2, string),
  }),
  message<{ podResources: PodResources }>({ podResources: field(1, podResources) }),
);
