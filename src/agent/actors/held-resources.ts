import { fullName } from '../policies/pod/pod-kinds.ts';
import type { NodeAgent } from './node-agent.ts';

/** The pods of an agent, and what it has given to them, as the PodResources API shows it. */
export function heldResources({ supervisor, holders }: NodeAgent) {
  const { registry, desired } = supervisor;
  const isActive = (uid: string) => !registry.isPodKnownTerminated(uid);
  return {
    activePods: () => registry.activePods().filter(({ metadata }) => isActive(metadata.uid)),
    pods: () => [...desired.pods()],
    pod: (namespace: string, name: string) => desired.getByFullName(fullName({ namespace, name })),
    holders,
  };
}
