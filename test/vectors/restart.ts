import {
  containerShouldRestart,
  matchingRestartRule,
  shouldAllContainersRestart,
  shouldContainerBeRestarted,
} from '../../src/agent/policies/pod-actions/restart.ts';
import type { Container, Pod, PodStatus } from '../../src/types/kubernetes.ts';
import { type PartialPodStatus, runtimePodStatus } from '../support/runtime-pod-status.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface RestartInput {
  readonly fn: 'containerShouldRestart' | 'shouldContainerBeRestarted' | 'shouldAllContainersRestart';
  readonly pod: Pod;
  readonly container: string;
  readonly exitCode: number;
  readonly podStatus: PartialPodStatus;
  readonly apiPodStatus: PodStatus;
}

export const adapter: VectorAdapter = {
  adapt(input: RestartInput) {
    switch (input.fn) {
      case 'containerShouldRestart':
        return containerShouldRestartCase(input);
      case 'shouldContainerBeRestarted': {
        const { pod, podStatus } = input;
        return { restart: shouldContainerBeRestarted(find(input), pod, runtimePodStatus(podStatus)) };
      }
      case 'shouldAllContainersRestart': {
        const { pod, podStatus, apiPodStatus } = input;
        return { restartAll: shouldAllContainersRestart(pod, runtimePodStatus(podStatus), apiPodStatus) };
      }
    }
  },
};

function containerShouldRestartCase(input: RestartInput): unknown {
  const container = find(input);
  return {
    restart: containerShouldRestart(input.pod, container, input.exitCode),
    matchedRule: matchingRestartRule(container, input.exitCode)?.action ?? null,
  };
}

function find({ pod, container }: RestartInput): Container {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const found = all.find(({ name }) => name === container);
  if (!found) throw new Error(`no container ${container} in the pod`);
  return found;
}
