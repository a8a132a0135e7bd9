/** Changes of one condition of a status. */
import type { Pod, PodCondition, PodStatus } from '../../types/kubernetes.ts';

/** In place of the condition of that type, or behind all others. */
export function withCondition(status: PodStatus, condition: PodCondition): PodStatus {
  const { conditions = [] } = status;
  const place = conditions.findIndex(({ type }) => type === condition.type);
  return {
    ...status,
    conditions: place < 0 ? [...conditions, condition] : conditions.with(place, condition),
  };
}

/** The generation of the pod's spec that its conditions are about. */
export function observedBy({ metadata: { generation } }: Pod): Pick<PodCondition, 'observedGeneration'> {
  return generation === undefined ? {} : { observedGeneration: generation };
}

/** The sandbox of the pod stands, with its network: containers can be started in it. */
export function withSandboxReady(pod: Pod, status: PodStatus): PodStatus {
  return withCondition(status, { type: 'PodReadyToStartContainers', ...observedBy(pod), status: 'True' });
}
