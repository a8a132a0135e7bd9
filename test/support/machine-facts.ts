/** Facts of a node, for tests of its Node object. */
import { parseQuantity } from '../../src/agent/policies/formats/quantity.ts';
import type { RegistrationSettings } from '../../src/agent/policies/node/initial-node.ts';
import type { MachineIdentity } from '../../src/agent/policies/node/machine-identity.ts';
import type { NodeStatusFacts } from '../../src/agent/policies/node/node-status.ts';

export const IDENTITY: MachineIdentity = { machineID: 'machine-a', systemUUID: 'system-a', bootID: 'boot-1' };
export const OTHER_IDENTITY: MachineIdentity = {
  machineID: 'machine-b',
  systemUUID: 'system-b',
  bootID: 'boot-2',
};

export const REGISTRATION: RegistrationSettings = {
  nodeName: 'node-1',
  hostname: 'node-1',
  os: 'linux',
  arch: 'amd64',
  nodeLabels: { disk: 'ssd' },
  registerWithTaints: [],
  registerSchedulable: true,
  externalCloudProvider: false,
  providerID: '',
  controllerManagedAttach: true,
};

export interface FactsInput {
  readonly nowMs: number;
  readonly identity?: MachineIdentity;
  /** Why the node is not Ready. */
  readonly problems?: readonly string[];
  readonly address?: string;
}

export function machineFacts({
  nowMs,
  identity = IDENTITY,
  problems = [],
  address = '10.0.0.1',
}: FactsInput): NodeStatusFacts {
  return {
    nowMs,
    addresses: {
      nodeIPs: [address],
      hostname: 'node-1',
      externalCloudProvider: false,
      dns: [],
      defaultRoute: () => undefined,
      problem: () => undefined,
    },
    resources: {
      machine: { ...identity, swapBytes: 0, cpus: 4, memoryBytes: 8 * 2 ** 30, hugePages: new Map() },
      maxPods: 110,
      podsPerCore: 0,
      ephemeralStorage: parseQuantity('100Gi'),
      plugins: { capacity: {}, allocatable: {}, removed: [] },
      reserved: {},
    },
    versions: {
      os: 'linux',
      arch: 'amd64',
      kernelVersion: '6.1',
      osImage: 'Linux',
      runtimeName: 'containerd',
      runtimeVersion: '1.7.0',
    },
    port: 10250,
    images: [],
    maxImages: 50,
    handlers: [{ name: '' }],
    supplementalGroupsPolicy: true,
    declaredFeatures: [],
    volumesInUse: [],
    pressure: new Set(),
    readiness: { problems, warning: '', needsEphemeralStorage: true },
  };
}
