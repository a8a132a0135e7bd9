/** What a machine has, in its node's status: capacity, allocatable, and the ids of the machine. */
import { type NodeEvent, rebootedEvent, type UpdatedNode } from './node-event.ts';
import {
  isExtendedResourceName,
  machineCapacity,
  type MachineSize,
  podCapacity,
} from '../node/node-capacity.ts';
import { parseQuantity, quantityString, subQuantity } from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';
import type { Node, NodeSystemInfo } from '../../types/kubernetes.ts';

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
  readonly ephemeralStorage: string | undefined;
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

const NO_PLUGINS: PluginResources = { capacity: {}, allocatable: {}, removed: [] };

/** Capacity that others have added stays, and so does allocatable, unless it is an extended resource without capacity. */
export function withMachineResources(node: Node, facts: ResourceFacts): UpdatedNode {
  const { machine } = facts;
  const plugins = machine ? facts.plugins : NO_PLUGINS;
  const capacity = {
    ...node.status?.capacity,
    ...ownCapacity(facts),
    ...plugins.capacity,
    ...Object.fromEntries(plugins.removed.map((resource) => [resource, '0'])),
  };
  const allocatable = allocatableOf(node.status?.allocatable, capacity, facts.reserved, plugins.allocatable);
  const before = node.status?.nodeInfo;
  const nodeInfo = machine ? withMachineIDs(before, machine) : before;
  const status = { ...node.status, capacity, allocatable, ...(nodeInfo && { nodeInfo }) };
  return { node: { ...node, status }, events: rebootEvents(node, machine) };
}

/** Of a machine that could not be read only `maxPods` is known. */
function ownCapacity({ machine, maxPods, podsPerCore, ephemeralStorage }: ResourceFacts): ResourceList {
  if (!machine) return { cpu: '0', memory: '0', pods: podCapacity(0, { maxPods, podsPerCore: 0 }) };
  return {
    ...machineCapacity(machine),
    pods: podCapacity(machine.cpus, { maxPods, podsPerCore }),
    ...(ephemeralStorage !== undefined && { 'ephemeral-storage': ephemeralStorage }),
  };
}

function allocatableOf(
  before: ResourceList = {},
  capacity: ResourceList,
  reserved: ResourceList,
  ofPlugins: ResourceList,
): ResourceList {
  const kept = Object.entries(before).filter(
    ([resource]) => Object.hasOwn(capacity, resource) || !isExtendedResourceName(resource),
  );
  const left = Object.entries(capacity).map(([resource, amount]) => [
    resource,
    less(amount, Object.hasOwn(reserved, resource) ? reserved[resource] : undefined),
  ]);
  return withoutHugePages(
    {
      ...(Object.fromEntries(kept) as ResourceList),
      ...(Object.fromEntries(left) as ResourceList),
      ...ofPlugins,
    },
    capacity,
  );
}

/** Huge pages are part of the memory, but not for those who ask for memory. */
function withoutHugePages(allocatable: ResourceList, capacity: ResourceList): ResourceList {
  const hugePages = Object.entries(capacity).filter(([resource]) => resource.startsWith('hugepages-'));
  const memory = hugePages.reduce((left, [, amount]) => less(left, amount), allocatable.memory ?? '0');
  return hugePages.length === 0 ? allocatable : { ...allocatable, memory };
}

/** The difference, at least zero. An amount from which nothing is taken keeps its spelling. */
function less(amount: string, taken = ''): string {
  const whole = parseQuantity(amount);
  if (taken === '' && whole.nanos >= 0n) return amount;
  const left = taken === '' ? whole : subQuantity(whole, parseQuantity(taken));
  return quantityString(left.nanos < 0n ? { nanos: 0n, format: left.format } : left);
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
