/** The facts of a simulated node for its status. */
import { bytesQuantity } from '../../agent/policies/node/node-capacity.ts';
import type { PluginResources } from '../../agent/policies/node/machine-resources.ts';
import { PRESSURE_CONDITIONS } from '../../agent/policies/eviction/signals.ts';
import { milliValue, parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { NodeStatusFacts } from '../../agent/policies/node/node-status.ts';
import { type NodeHealth, readyProblems } from '../../agent/policies/node/ready-problems.ts';
import type { NodeFacts } from '../../types/node-facts.ts';

export const NODE_ADDRESS = '192.0.2.1';

/** A machine that has what the facts say, with so much of a CPU reserved that no more than that can be allocated. */
export function simulatedStatusFacts(
  { name, os, arch, allocatable, conditions }: NodeFacts,
  health: NodeHealth,
  nowMs: number,
  plugins: PluginResources = { capacity: {}, allocatable: {}, removed: [] },
): NodeStatusFacts {
  const milliCPUs = Number(milliValue(parseQuantity(allocatable.cpu ?? '0')));
  const cpus = Math.ceil(milliCPUs / 1000);
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
      machine: {
        cpus,
        memoryBytes: numberOf(allocatable.memory),
        hugePages: new Map(),
        machineID: name,
        systemUUID: name,
        bootID: 'boot-1',
        swapBytes: 0,
      },
      maxPods: numberOf(allocatable.pods),
      podsPerCore: 0,
      // A node that does not know how much it has is not ready.
      ephemeralStorage: bytesQuantity(allocatable['ephemeral-storage'] ?? '1Pi'),
      plugins,
      reserved: { cpu: `${String(cpus * 1000 - milliCPUs)}m` },
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

const numberOf = (quantity = '0'): number => Number(quantityValue(parseQuantity(quantity)));
