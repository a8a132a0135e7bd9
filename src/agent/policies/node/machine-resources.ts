/** What a machine has, in its node's status: capacity, allocatable, and the ids of the machine. */
import type { Node, NodeSystemInfo } from '../../../types/kubernetes.ts';
import { parseQuantity, type Quantity, subQuantity, ZERO_QUANTITY } from '../formats/quantity.ts';
import { quantitiesOf, type ResourceList, type ResourceQuantities, textsOf } from '../pod/resources.ts';
import { isExtendedResourceName, machineCapacity, type MachineSize, podCapacity } from './node-capacity.ts';

export interface MachineInfo extends MachineSize {
  readonly machineID: string;
  readonly systemUUID: string;
  /** Another one after each boot of the machine. */
  readonly bootID: string;
  /** 0: the machine has no swap. */
  readonly swapBytes: number;
}

/** Resources that plugins manage. Those of plugins that are gone are `removed`: the node still has them, but none is left. */
export interface PluginResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly removed: readonly string[];
}

export interface ResourceFacts {
  /** Undefined where the machine could not be read. */
  readonly machine: MachineInfo | undefined;
  readonly maxPods: number;
  /** 0: only `maxPods` counts. */
  readonly podsPerCore: number;
  /** Of the file system with volumes and logs; undefined while it is not known. */
  readonly ephemeralStorage: Quantity | undefined;
  readonly plugins: PluginResources;
  /** What pods may not use, by resource. */
  readonly reserved: ResourceList;
}

/** The node without facts of its machine. */
export const NO_NODE_INFO: NodeSystemInfo = {
  architecture: '',
  bootID: '',
  containerRuntimeVersion: '',
  kernelVersion: '',
  kubeProxyVersion: '',
  kubeletVersion: '',
  machineID: '',
  operatingSystem: '',
  osImage: '',
  systemUUID: '',
};

const NO_MACHINE: MachineSize = { cpus: 0, memoryBytes: 0, hugePages: new Map() };

const NO_PLUGINS: PluginResources = { capacity: {}, allocatable: {}, removed: [] };

/** Capacity that others have added stays, and so does allocatable, unless it is an extended resource without capacity. */
export function withMachineResources(node: Node, facts: ResourceFacts): UpdatedNode {
  const { machine } = facts;
  const plugins = machine ? facts.plugins : NO_PLUGINS;
  const amounts: ResourceQuantities = new Map([
    ...quantitiesOf(node.status?.capacity),
    ...ownCapacity(facts),
    ...quantitiesOf(plugins.capacity),
    ...plugins.removed.map((resource) => [resource, ZERO_QUANTITY] as const),
  ]);
  const capacity = textsOf(amounts);
  const allocatable = allocatableOf(node.status?.allocatable, amounts, facts.reserved, plugins.allocatable);
  const before = node.status?.nodeInfo;
  const nodeInfo = machine ? withMachineIDs(before, machine) : before;
  const status = { ...node.status, capacity, allocatable, nodeInfo };
  return { node: { ...node, status }, events: rebootEvents(node, machine) };
}

/** Of a machine that could not be read only `maxPods` is known. */
function ownCapacity({ machine, maxPods, podsPerCore, ephemeralStorage }: ResourceFacts): ResourceQuantities {
  const pods = podCapacity(machine?.cpus ?? 0, { maxPods, podsPerCore: machine ? podsPerCore : 0 });
  if (!machine) return new Map([...machineCapacity(NO_MACHINE), ['pods', pods]]);
  return new Map([
    ...machineCapacity(machine),
    ['pods', pods],
    ...(ephemeralStorage === undefined ? [] : [['ephemeral-storage', ephemeralStorage] as const]),
  ]);
}

function allocatableOf(
  before: ResourceList = {},
  capacity: ResourceQuantities,
  reserved: ResourceList,
  ofPlugins: ResourceList,
): ResourceList {
  const kept = Object.entries(before).filter(
    ([resource]) => capacity.has(resource) || !isExtendedResourceName(resource),
  );
  const left = Array.from(capacity, ([resource, amount]): [string, Quantity] => {
    const taken = Object.hasOwn(reserved, resource) ? reserved[resource] : undefined;
    return [resource, taken === undefined ? atLeastZero(amount) : less(amount, parseQuantity(taken))];
  });
  const allocatable: ResourceQuantities = new Map([
    ...quantitiesOf(Object.fromEntries(kept)),
    ...left,
    ...quantitiesOf(ofPlugins),
  ]);
  return textsOf(withoutHugePages(allocatable, capacity));
}

/** Huge pages are part of the memory, but requests of memory cannot use them. */
function withoutHugePages(allocatable: ResourceQuantities, capacity: ResourceQuantities): ResourceQuantities {
  const hugePages = [...capacity].filter(([resource]) => resource.startsWith('hugepages-'));
  if (hugePages.length === 0) return allocatable;
  const all = allocatable.get('memory') ?? ZERO_QUANTITY;
  return new Map([
    ...allocatable,
    ['memory', hugePages.reduce((left, [, amount]) => less(left, amount), all)],
  ]);
}

function less(amount: Quantity, taken: Quantity): Quantity {
  return atLeastZero(subQuantity(amount, taken));
}

function atLeastZero(amount: Quantity): Quantity {
  return amount.nanos < 0n ? { nanos: 0n, format: amount.format } : amount;
}

function withMachineIDs(before: NodeSystemInfo = NO_NODE_INFO, machine: MachineInfo): NodeSystemInfo {
  const { machineID, systemUUID, bootID, swapBytes } = machine;
  return {
    ...before,
    machineID,
    systemUUID,
    bootID,
    ...(swapBytes > 0 && { swap: { capacity: swapBytes } }),
  };
}

function rebootEvents(node: Node, machine: MachineInfo | undefined): readonly NodeEvent[] {
  const before = node.status?.nodeInfo?.bootID ?? '';
  if (!machine || before === '' || before === machine.bootID) return [];
  return [rebootedEvent(node.metadata.name, machine.bootID)];
}

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A Node object that was brought up to date, and the events about what has changed. */
export interface UpdatedNode {
  readonly node: Node;
  readonly events: readonly NodeEvent[];
}

/** `NodeReady`, `NodeHasDiskPressure`, … */
export function statusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/** The event for a node that was cordoned or uncordoned since `wasUnschedulable` was read. */
export function schedulableEvent(node: Node, wasUnschedulable: boolean): NodeEvent | undefined {
  const unschedulable = node.spec?.unschedulable ?? false;
  if (unschedulable === wasUnschedulable) return undefined;
  return statusEvent(node.metadata.name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable');
}

function rebootedEvent(nodeName: string, bootID: string): NodeEvent {
  const message = `Node ${nodeName} has been rebooted, boot id: ${bootID}`;
  return { type: 'Warning', reason: 'Rebooted', message };
}
