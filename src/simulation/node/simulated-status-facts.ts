/** The facts of a simulated node for its status. */
import { bytesQuantity, isExtendedResourceName } from '../../agent/policies/node/node-capacity.ts';
import type { PluginResources } from '../../agent/policies/node/machine-resources.ts';
import { PRESSURE_CONDITIONS } from '../../agent/policies/eviction/signals.ts';
import { milliValue, parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { NodeStatusFacts } from '../../agent/policies/node/node-status.ts';
import { type NodeHealth, readyProblems } from '../../agent/policies/node/ready-problems.ts';
import type { NodeFacts } from '../../types/node-facts.ts';

const HUGE_PAGES = 'hugepages-';
export const NODE_ADDRESS = '192.0.2.1';

/** The machine of a node that has what the facts say. It is named after the node. */
export function simulatedMachine({ name, capacity }: Pick<NodeFacts, 'name' | 'capacity'>) {
  return {
    cpus: Math.ceil(milliCPUsOf(capacity) / 1000),
    memoryBytes: numberOf(capacity.memory),
    hugePages: hugePagesOf(capacity),
    machineID: name,
    systemUUID: name,
    bootID: 'boot-1',
    swapBytes: 0,
  };
}

/** A machine that has what the facts say, with so much of its CPUs and memory reserved that no more than that can be allocated. */
export function simulatedStatusFacts(
  facts: NodeFacts,
  health: NodeHealth,
  nowMs: number,
  plugins: PluginResources = { capacity: {}, allocatable: {}, removed: [] },
): NodeStatusFacts {
  const { name, os, arch, capacity, allocatable, conditions } = facts;
  const extended = Object.entries(capacity).filter(([resource]) => isExtendedResourceName(resource));
  const machine = simulatedMachine(facts);
  return {
    nowMs,
    addresses: {
      nodeIPs: [NODE_ADDRESS],
      hostname: name,
      externalCloudProvider: false,
      dns: [],
      defaultRoute: () => undefined,
      problem: () => undefined,
    },
    resources: {
      machine,
      maxPods: numberOf(allocatable.pods),
      podsPerCore: 0,
      // A node that does not know how much it has is not ready.
      ephemeralStorage: bytesQuantity(allocatable['ephemeral-storage'] ?? '1Pi'),
      // What a plugin lists counts before what the facts say of the resource.
      plugins: {
        capacity: { ...Object.fromEntries(extended), ...plugins.capacity },
        allocatable: { ...Object.fromEntries(extended), ...plugins.allocatable },
        removed: plugins.removed,
      },
      reserved: {
        cpu: `${String(machine.cpus * 1000 - milliCPUsOf(allocatable))}m`,
        memory: String(machine.memoryBytes - numberOf(allocatable.memory)),
      },
    },
    versions: {
      os,
      arch,
      kernelVersion: '6.1.0',
      osImage: 'Simulated GNU/Linux',
      runtimeName: 'simulated',
      runtimeVersion: '1.0.0',
    },
    port: 10250,
    images: [],
    maxImages: 50,
    handlers: [],
    supplementalGroupsPolicy: true,
    declaredFeatures: [],
    volumesInUse: undefined,
    pressure: new Set(PRESSURE_CONDITIONS.filter((condition) => conditions.includes(condition))),
    readiness: { problems: readyProblems(health, nowMs), warning: '', needsEphemeralStorage: true },
  };
}

const milliCPUsOf = ({ cpu = '0' }: NodeFacts['allocatable']): number =>
  Number(milliValue(parseQuantity(cpu)));
const numberOf = (quantity = '0'): number => Number(quantityValue(parseQuantity(quantity)));

function hugePagesOf(capacity: NodeFacts['capacity']): ReadonlyMap<number, number> {
  const sizes = Object.entries(capacity).flatMap(([resource, amount]): [number, number][] => {
    if (!resource.startsWith(HUGE_PAGES)) return [];
    const pageBytes = numberOf(resource.slice(HUGE_PAGES.length));
    return [[pageBytes, Math.floor(numberOf(amount) / pageBytes)]];
  });
  return new Map(sizes);
}
