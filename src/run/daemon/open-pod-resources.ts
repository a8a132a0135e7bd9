/** Serves which devices, CPUs and memory the containers of a node have. Loaded only for a CRI runtime. */
import { heldResources } from '../../agent/actors/held-resources.ts';
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { AgentMetrics } from '../../agent/server/metrics/agent-metrics.ts';
import { PodResourcesSocket } from '../../agent/server/pod-resources/pod-resources-socket.ts';
import type { AgentContext } from '../../types/agent-context.ts';

export interface PodResourcesDeps {
  readonly agent: NodeAgent;
  readonly rootDir: string;
  readonly metrics: AgentMetrics | undefined;
}

export async function openPodResources(
  { clock, logger }: AgentContext,
  { agent, rootDir, metrics }: PodResourcesDeps,
): Promise<PodResourcesSocket> {
  const socket = new PodResourcesSocket(logger, () => ({
    ...heldResources(agent),
    measurements: metrics?.podResources,
    now: () => clock.now(),
  }));
  await socket.listen(rootDir);
  return socket;
}
