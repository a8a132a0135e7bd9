import { fullName } from '../policies/pod/pod-kinds.ts';
import type { NodeAgent } from './node-agent.ts';
import { podsForCluster, podWorkers, servedPod, servedPods } from './pods/served-pods.ts';

/** What an agent knows of itself and its pods, as the paths of its node show it. */
export function servedAgent(agent: NodeAgent) {
  const { supervisor, statusManager, pleg } = agent;
  return {
    health: () => agent.health(),
    pods: () => servedPods(supervisor.registry, statusManager),
    pod: (namespace: string, name: string) => {
      const pod = supervisor.desired.getByFullName(fullName({ namespace, name }));
      return pod && servedPod(pod, supervisor.registry, statusManager);
    },
    desiredPods: () => podsForCluster(supervisor.desired, statusManager),
    workers: () => podWorkers(supervisor.registry, supervisor.desired),
    mirrorPodCount: () => [...supervisor.desired.mirrorPods()].length,
    lastRelistMs: () => pleg.lastRelistMs,
    runtimePods: () => pleg.pods(),
    runtimePod: (uid: string) => pleg.lastSeen(uid),
    pluginSockets: () => agent.plugins?.sockets() ?? [],
  };
}
