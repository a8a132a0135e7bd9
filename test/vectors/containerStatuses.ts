import { apiContainerStatuses } from '../../src/agent/policies/status/container-statuses.ts';
import type { StartFailure } from '../../src/agent/policies/status/container-state.ts';
import type { Pod, PodStatus } from '../../src/types/kubernetes.ts';
import { type PartialPodStatus, runtimePodStatus } from '../support/runtime-pod-status.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly pod: Pod;
  readonly podStatus: PartialPodStatus;
  readonly oldStatus: PodStatus;
  readonly reasonCache: Readonly<Record<string, StartFailure>>;
  readonly podRestarting: boolean;
}

export const adapter: VectorAdapter = {
  adapt({ pod, podStatus, oldStatus, reasonCache, podRestarting }: Input) {
    const facts = {
      pod,
      podStatus: runtimePodStatus(podStatus),
      startFailures: new Map(Object.entries(reasonCache)),
      podRestarting,
      runtimeName: 'cri',
    };
    const { containerStatuses: regular, initContainerStatuses } = apiContainerStatuses(facts, oldStatus);
    return { containerStatuses: regular, initContainerStatuses };
  },
};
