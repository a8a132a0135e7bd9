/** Serves which devices, CPUs and memory the containers of a node have. Loaded only for a CRI runtime. */
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { AgentMetrics } from '../../agent/server/metrics/agent-metrics.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import { PodResourcesSocket } from '../../agent/server/pod-resources/pod-resources-socket.ts';
import type { MemoryBlock } from '../../agent/policies/memory-manager/numa-memory.ts';
import { fullName } from '../../agent/policies/pod/pod-kinds.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { HeldMemory, ResourceHolders } from '../../types/pod-resources.ts';

type ResourceParts = Pick<NodeParts, 'devices' | 'cpus' | 'memory'>;

export interface PodResourcesDeps {
  readonly agent: NodeAgent;
  readonly parts: ResourceParts;
  readonly rootDir: string;
  readonly metrics: AgentMetrics | undefined;
}

export function holdersOf({ devices, cpus, memory }: ResourceParts): ResourceHolders {
  return {
    ofContainer: (uid, container) => ({
      devices: devices?.heldResources(uid, container) ?? [],
      cpuIDs: cpus?.exclusive(uid, container) ?? [],
      memory: (memory?.held(uid, container) ?? []).map(heldMemory),
    }),
    allocatable: () => ({
      devices: devices?.healthyResources() ?? [],
      cpuIDs: cpus?.allocatable ?? [],
      memory: (memory?.allocatable ?? []).map(heldMemory),
    }),
  };
}

function heldMemory({ type, size, numaAffinity }: MemoryBlock): HeldMemory {
  return { memoryType: type, sizeBytes: size, numaNodes: numaAffinity };
}

export async function openPodResources(
  { clock, logger }: AgentContext,
  { agent, parts, rootDir, metrics }: PodResourcesDeps,
): Promise<PodResourcesSocket> {
  const { registry, desired } = agent.supervisor;
  const isActive = (uid: string) => !registry.isPodKnownTerminated(uid);
  const socket = new PodResourcesSocket(logger, () => ({
    activePods: () => registry.activePods().filter(({ metadata }) => isActive(metadata.uid)),
    pods: () => [...desired.pods()],
    pod: (namespace, name) => desired.getByFullName(fullName({ namespace, name })),
    holders: holdersOf(parts),
    measurements: metrics?.podResources,
    now: () => clock.now(),
  }));
  await socket.listen(rootDir);
  return socket;
}
