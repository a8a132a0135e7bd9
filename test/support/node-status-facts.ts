/** Facts of a node's status, for tests: a machine of 4 CPUs with a runtime that is ready. */
import { parseQuantity } from '../../src/agent/policies/formats/quantity.ts';
import {
  NO_EVENTS_SENT,
  buildNodeStatus,
  type NodeStatusFacts,
} from '../../src/agent/policies/node/node-status.ts';
import { initialNode, type RegistrationSettings } from '../../src/agent/policies/node/initial-node.ts';
import type { Node } from '../../src/types/kubernetes.ts';

export const NOW_MS = Date.UTC(2030, 0, 1);

export const REGISTRATION: RegistrationSettings = {
  nodeName: 'node-1',
  hostname: 'node-1',
  os: 'linux',
  arch: 'amd64',
  nodeLabels: {},
  registerWithTaints: [],
  registerSchedulable: true,
  externalCloudProvider: false,
  providerID: '',
  controllerManagedAttach: true,
};

export function statusFacts(own: Partial<NodeStatusFacts> = {}): NodeStatusFacts {
  return {
    nowMs: NOW_MS,
    addresses: {
      nodeIPs: ['10.0.0.1'],
      hostname: 'node-1',
      externalCloudProvider: false,
      dns: [],
      defaultRoute: () => undefined,
      problem: () => undefined,
    },
    resources: {
      machine: {
        machineID: 'machine',
        systemUUID: 'system',
        bootID: 'boot-1',
        swapBytes: 0,
        cpus: 4,
        memoryBytes: 8 * 2 ** 30,
        hugePages: new Map([[2 ** 21, 512]]),
      },
      maxPods: 110,
      podsPerCore: 0,
      ephemeralStorage: parseQuantity('100Gi'),
      plugins: { capacity: {}, allocatable: {}, removed: [] },
      reserved: { cpu: '500m', memory: '1Gi' },
    },
    versions: {
      os: 'linux',
      arch: 'amd64',
      kernelVersion: '6.1.0',
      osImage: 'Debian GNU/Linux 13 (trixie)',
      runtimeName: 'containerd',
      runtimeVersion: '1.7.24',
    },
    port: 10250,
    images: [{ id: 'sha256:1', repoTags: ['registry.example/app:1'], repoDigests: [], size: 1024 }],
    maxImages: 50,
    handlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }],
    supplementalGroupsPolicy: true,
    declaredFeatures: ['RestartAllContainersOnContainerExits'],
    volumesInUse: [],
    pressure: new Set(),
    readiness: { problems: [], warning: '', needsEphemeralStorage: true },
    ...own,
  };
}

/** A node that has registered with these facts. */
export function registeredNode(own: Partial<NodeStatusFacts> = {}): Node {
  return buildNodeStatus(initialNode(REGISTRATION), statusFacts(own), NO_EVENTS_SENT).node;
}
