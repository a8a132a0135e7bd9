/** Runs our policies of the node object on the golden vectors `nodeStatus`: one entry for each function of the kubelet. */
import { parseIPAddress } from '../../src/agent/policies/formats/ip-address.ts';
import { parseQuantity, quantityString } from '../../src/agent/policies/formats/quantity.ts';
import { rfc3339 } from '../../src/agent/policies/formats/time.ts';
import type { PressureCondition } from '../../src/agent/policies/eviction/signals.ts';
import {
  reconcileAttachAnnotation,
  type Reconciled,
  reconcileExtendedResources,
  reconcileHugePages,
  updateDefaultLabels,
  updateDefaultResources,
} from '../../src/agent/policies/node/registration.ts';
import { initialNode, withPlatformLabels } from '../../src/agent/policies/node/initial-node.ts';
import {
  type PluginResources,
  schedulableEvent,
  type UpdatedNode,
  withMachineResources,
} from '../../src/agent/policies/node/machine-resources.ts';
import { withPressure, withReady } from '../../src/agent/policies/node/node-conditions.ts';
import {
  withFeatures,
  withImages,
  withPlatform,
  withPort,
  withRuntimeHandlers,
  withVersions,
} from '../../src/agent/policies/node/node-software.ts';
import { withVolumesInUse } from '../../src/agent/policies/node/node-status.ts';
import { nodeIPProblem, withAddresses } from '../../src/agent/policies/node/reported-addresses.ts';
import type { ResourceList } from '../../src/agent/policies/pod/resources.ts';
import type { Image } from '../../src/types/cri.ts';
import type { Node, Taint } from '../../src/types/kubernetes.ts';

const PLATFORM = { os: 'linux', arch: 'amd64' };

/** Nodes of the vectors may have no name. */
interface GivenNode extends Omit<Node, 'metadata'> {
  readonly metadata?: Partial<Node['metadata']>;
}

function nodeOf(given: GivenNode | undefined, name = ''): Node {
  return { ...given, metadata: { name, ...given?.metadata } };
}

interface AddressInput {
  readonly node: GivenNode;
  readonly nodeIPs: readonly string[];
  readonly invalidIPs: readonly string[];
  readonly hostname: string;
  readonly externalCloudProvider: boolean;
  readonly dns: readonly string[];
  readonly resolveIPv4?: string;
  readonly resolveIPv6?: string;
}

function nodeAddress(input: AddressInput): unknown {
  const { node, invalidIPs, resolveIPv4, resolveIPv6 } = input;
  const { node: after, problem } = withAddresses(nodeOf(node), {
    ...input,
    defaultRoute: (preferIPv4) => (preferIPv4 ? resolveIPv4 : resolveIPv6),
    problem: ({ text }) => {
      const isInvalid = invalidIPs.some((invalid) => parseIPAddress(invalid)?.text === text);
      return isInvalid ? `invalid ${text}` : undefined;
    },
  });
  return {
    error: problem ?? null,
    addresses: after.status?.addresses ?? [],
    annotations: after.metadata.annotations ?? {},
  };
}

interface MachineInput {
  readonly node: GivenNode;
  readonly nodeName: string;
  readonly machineInfo: {
    readonly machineID: string;
    readonly systemUUID: string;
    readonly bootID: string;
    readonly numCores: number;
    readonly memoryCapacity: string;
    readonly swapCapacity?: string;
    readonly hugePages?: readonly { readonly pageSizeKi: number; readonly numPages: number }[];
  } | null;
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly capacity?: ResourceList | null;
  readonly devicePlugin: { readonly [Part in keyof PluginResources]?: PluginResources[Part] | null };
  readonly reservation?: ResourceList | null;
}

function machineInfo(input: MachineInput): unknown {
  const { node, nodeName, machineInfo: given, maxPods, podsPerCore, capacity, devicePlugin } = input;
  const hugePages = (given?.hugePages ?? []).map(({ pageSizeKi, numPages }) => ({
    pageBytes: pageSizeKi * 1024,
    count: numPages,
  }));
  const ephemeralStorage = capacity?.['ephemeral-storage'];
  const before = nodeOf({ ...node, metadata: { name: nodeName } });
  const { node: after, events } = withMachineResources(before, {
    machine: given
      ? {
          machineID: given.machineID,
          systemUUID: given.systemUUID,
          bootID: given.bootID,
          swapBytes: Number(given.swapCapacity ?? 0),
          cpus: given.numCores,
          memoryBytes: Number(given.memoryCapacity),
          hugePages: new Map(hugePages.map(({ pageBytes, count }) => [pageBytes, count])),
        }
      : undefined,
    maxPods,
    podsPerCore,
    ephemeralStorage: ephemeralStorage === undefined ? undefined : parseQuantity(ephemeralStorage),
    plugins: {
      capacity: devicePlugin.capacity ?? {},
      allocatable: devicePlugin.allocatable ?? {},
      removed: devicePlugin.removed ?? [],
    },
    reserved: input.reservation ?? {},
  });
  return {
    error: null,
    capacity: after.status?.capacity,
    allocatable: after.status?.allocatable,
    nodeInfo: filled(after.status?.nodeInfo),
    events,
  };
}

/** The vectors leave out fields that are empty. */
function filled(fields: object = {}): unknown {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** The kubelet writes each quantity anew, also one that has not changed. */
function canonical(list: ResourceList | undefined): ResourceList | undefined {
  if (list === undefined) return undefined;
  const amounts = Object.entries(list);
  return Object.fromEntries(amounts.map(([name, amount]) => [name, quantityString(parseQuantity(amount))]));
}

function canonicalNode(given: GivenNode): Node {
  const node = nodeOf(given);
  const capacity = canonical(node.status?.capacity);
  const allocatable = canonical(node.status?.allocatable);
  const status = { ...node.status, ...(capacity && { capacity }), ...(allocatable && { allocatable }) };
  return { ...node, status };
}

interface VersionInput {
  readonly node: GivenNode;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly runtimeType: string;
  readonly runtimeVersion: string | null;
  readonly versionInfoFails?: boolean;
}

function versionInfo(input: VersionInput): unknown {
  const { kernelVersion, osImage, runtimeType, runtimeVersion, versionInfoFails } = input;
  const facts = {
    kernelVersion,
    osImage,
    runtimeName: runtimeType,
    runtimeVersion: runtimeVersion ?? undefined,
  };
  const after = withVersions(nodeOf(input.node), versionInfoFails ? undefined : facts);
  return {
    error: versionInfoFails ? 'error getting version info: foo' : null,
    nodeInfo: filled(after.status?.nodeInfo),
  };
}

interface ImagesInput {
  readonly images: readonly (Omit<Image, 'repoTags' | 'repoDigests'> & {
    readonly repoTags: readonly string[] | null;
    readonly repoDigests: readonly string[] | null;
  })[];
  readonly listError?: string;
  readonly nodeStatusMaxImages: number;
}

function images({ images: given, listError, nodeStatusMaxImages }: ImagesInput): unknown {
  const list = given.map((image) => ({
    ...image,
    repoTags: image.repoTags ?? [],
    repoDigests: image.repoDigests ?? [],
  }));
  const after = withImages(nodeOf({}), listError ? undefined : list, nodeStatusMaxImages);
  return {
    error: listError ? `error getting image list: ${listError}` : null,
    images: (after.status?.images ?? []).map(({ names, sizeBytes }) => ({
      names,
      ...(sizeBytes !== 0 && { sizeBytes }),
    })),
  };
}

interface PressureInput {
  readonly node: GivenNode;
  readonly pressure: boolean;
  readonly now: number;
}

function pressureCondition(type: PressureCondition): (input: PressureInput) => unknown {
  return ({ node, pressure, now }) =>
    conditionsOf(withPressure(nodeOf(node), type, pressure, rfc3339(now * 1000)));
}

interface ReadyInput {
  readonly node: GivenNode;
  readonly now: number;
  readonly runtimeErrors?: string;
  readonly networkErrors?: string;
  readonly storageErrors?: string;
  readonly shutdownErrors?: string;
  readonly softRequirements?: string;
  readonly localStorageCapacityIsolation: boolean;
}

function readyCondition(input: ReadyInput): unknown {
  const { runtimeErrors, networkErrors, storageErrors, shutdownErrors } = input;
  const given = [runtimeErrors, networkErrors, storageErrors, shutdownErrors];
  const readiness = {
    problems: given.filter((problem) => problem !== undefined && problem !== '').map(String),
    warning: input.softRequirements ?? '',
    needsEphemeralStorage: input.localStorageCapacityIsolation,
  };
  return conditionsOf(withReady(nodeOf(input.node), readiness, rfc3339(input.now * 1000)));
}

function conditionsOf({ node, events }: UpdatedNode): unknown {
  return {
    error: null,
    conditions: node.status?.conditions,
    events: events.map(({ reason, type }) => ({ reason, type })),
  };
}

interface TwoNodes {
  readonly initialNode: GivenNode;
  readonly existingNode: GivenNode;
  readonly shouldReset?: boolean;
}

function resourcesOf({ node, changed }: Reconciled): unknown {
  return {
    needsUpdate: changed,
    capacity: node.status?.capacity ?? {},
    allocatable: node.status?.allocatable ?? {},
  };
}

interface InitialInput {
  readonly nodeName: string;
  readonly hostname: string;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly registerWithTaints?: readonly Taint[];
  readonly externalCloudProvider: boolean;
  readonly enableControllerAttachDetach: boolean;
  readonly providerID?: string;
}

function initial(input: InitialInput): unknown {
  const { metadata, spec } = initialNode({
    ...PLATFORM,
    nodeName: input.nodeName,
    hostname: input.hostname,
    nodeLabels: input.nodeLabels ?? {},
    registerWithTaints: input.registerWithTaints ?? [],
    registerSchedulable: true,
    externalCloudProvider: input.externalCloudProvider,
    providerID: input.providerID ?? '',
    controllerManagedAttach: input.enableControllerAttachDetach,
  });
  return { metadata, spec };
}

interface SchedulableInput {
  readonly lastNodeUnschedulable: boolean;
  readonly unschedulable: readonly boolean[];
}

function nodeSchedulableEvents({ lastNodeUnschedulable, unschedulable }: SchedulableInput): unknown {
  const events = unschedulable.map((now, index) => {
    const before = unschedulable[index - 1] ?? lastNodeUnschedulable;
    const event = schedulableEvent(nodeOf({ spec: { unschedulable: now } }, 'node-1'), before);
    return event ? `${event.type} ${event.reason} ${event.message}` : null;
  });
  return { events };
}

/** Whether the machine has the address cannot be seen from the vectors: their machine has none. */
function validateNodeIP({ ip }: { readonly ip: string }): unknown {
  const address = parseIPAddress(ip);
  return { error: address ? (nodeIPProblem(address, []) ?? null) : 'nodeIP must be a valid IP address' };
}

/* oxlint-disable-next-line typescript/no-explicit-any -- the input of each function has a shape of its own */
export const NODE_STATUS_CASES: Readonly<Record<string, (input: any) => unknown>> = {
  nodeAddress,
  machineInfo,
  versionInfo,
  images,
  readyCondition,
  memoryPressureCondition: pressureCondition('MemoryPressure'),
  diskPressureCondition: pressureCondition('DiskPressure'),
  pidPressureCondition: pressureCondition('PIDPressure'),
  initialNode: initial,
  nodeSchedulableEvents,
  validateNodeIP,
  volumesInUse: (input: { node: GivenNode; synced: boolean; volumesInUse: readonly string[] | null }) => ({
    error: null,
    volumesInUse: withVolumesInUse(nodeOf(input.node), input.synced ? (input.volumesInUse ?? []) : undefined)
      .status?.volumesInUse,
  }),
  goRuntime: ({ node }: { node: GivenNode }) => ({
    error: null,
    nodeInfo: filled(withPlatform(nodeOf(node), PLATFORM).status?.nodeInfo),
  }),
  daemonEndpoints: (input: { node: GivenNode; daemonEndpoints: { kubeletEndpoint: { Port: number } } }) => ({
    error: null,
    daemonEndpoints: withPort(nodeOf(input.node), input.daemonEndpoints.kubeletEndpoint.Port).status
      ?.daemonEndpoints,
  }),
  runtimeHandlers: (input: {
    node: GivenNode;
    handlers: readonly { name: string; recursiveReadOnlyMounts: boolean; userNamespaces: boolean }[];
  }) => ({
    error: null,
    runtimeHandlers: withRuntimeHandlers(
      nodeOf(input.node),
      input.handlers.map(({ name, ...features }) => ({ name, features })),
    ).status?.runtimeHandlers,
  }),
  nodeFeatures: (input: {
    node: GivenNode;
    runtimeFeatures: { supplementalGroupsPolicy: boolean } | null;
  }) => ({
    error: null,
    features:
      withFeatures(nodeOf(input.node), input.runtimeFeatures?.supplementalGroupsPolicy).status?.features ??
      null,
  }),
  updateDefaultLabels: ({ initialNode: first, existingNode }: TwoNodes) => {
    const { node, changed } = updateDefaultLabels(nodeOf(first), nodeOf(existingNode));
    return { labels: node.metadata.labels ?? {}, needsUpdate: changed };
  },
  updateDefaultResources: ({ initialNode: first, existingNode }: TwoNodes) =>
    resourcesOf(updateDefaultResources(canonicalNode(first), canonicalNode(existingNode))),
  reconcileHugePageResource: ({ initialNode: first, existingNode }: TwoNodes) =>
    resourcesOf(reconcileHugePages(canonicalNode(first), canonicalNode(existingNode))),
  reconcileExtendedResource: ({ initialNode: first, existingNode, shouldReset }: TwoNodes) =>
    resourcesOf(
      reconcileExtendedResources(canonicalNode(first), canonicalNode(existingNode), shouldReset ?? false),
    ),
  reconcileCMADAnnotation: ({ initialNode: first, existingNode }: TwoNodes) => {
    const { node, changed } = reconcileAttachAnnotation(nodeOf(first), nodeOf(existingNode));
    return { annotations: node.metadata.annotations ?? {}, needsUpdate: changed };
  },
  updateNodeLabels: ({ node }: { node: GivenNode }) => {
    const before = nodeOf(node);
    const after = withPlatformLabels(before, PLATFORM);
    return { changed: after !== before, labels: after.metadata.labels };
  },
};
