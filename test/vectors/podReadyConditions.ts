import {
  containersReadyCondition,
  podInitializedCondition,
  podReadyCondition,
} from '../../src/agent/policies/status/pod-conditions.ts';
import type { ContainerStatus, Pod, PodCondition } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly pod: Pod;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses: readonly ContainerStatus[] | null;
  readonly phase: string;
}

export const adapter: VectorAdapter = {
  adapt({ pod, conditions = [], containerStatuses, phase }: Input) {
    const statuses = containerStatuses ?? undefined;
    return {
      containersReady: filled(containersReadyCondition(pod, statuses, phase)),
      ready: filled(podReadyCondition(pod, conditions, statuses, phase)),
      initialized: filled(podInitializedCondition(pod, conditions, statuses, phase)),
    };
  },
};

/** With empty reasons and messages, as in the vectors. */
function filled(condition: PodCondition): PodCondition {
  return { reason: '', message: '', ...condition };
}
