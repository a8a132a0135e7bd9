/** Facts for computing a pod's status. A test gives only the facts that it needs. */
import type { PodStatusFacts } from '../../src/agent/policies/status/pod-status.ts';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../src/types/kubernetes.ts';
import { type PartialContainer, type PartialPodStatus, runtimePodStatus } from './runtime-pod-status.ts';

export const NOW = '2030-01-01T01:00:00Z';
export const BEFORE = '2030-01-01T00:00:00Z';
export const SANDBOX = { id: 's1', ip: '10.1.0.7' };
export const EVICTED = {
  phase: 'Failed',
  reason: 'Evicted',
  message: 'The node was low on resource: memory.',
  conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }],
} as const;

/** A pod of one container, `app`. */
export function podOf(spec: Partial<Pod['spec']> = {}, more: Partial<Pod> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u-1' },
    spec: { containers: [{ name: 'app', image: 'app:1' }], restartPolicy: 'Always', ...spec },
    ...more,
  };
}

export function factsOf(
  pod: Pod,
  runtime: PartialPodStatus,
  more: Partial<PodStatusFacts> = {},
): PodStatusFacts {
  return {
    pod,
    podStatus: runtimePodStatus(runtime),
    podIsTerminal: false,
    startFailures: new Map(),
    runtimeName: 'process',
    hostIPs: ['192.168.0.2'],
    now: NOW,
    ...more,
  };
}

/** An instance in `SANDBOX`, with the id `NAME-1`. */
export function instance(
  name: string,
  state: PartialContainer['state'],
  more: Partial<PartialContainer> = {},
): PartialContainer {
  return { id: `${name}-1`, name, state, podSandboxId: 's1', createdAt: 1, startedAt: 2, ...more };
}

export function conditionOf(status: PodStatus, type: string): PodCondition | undefined {
  return status.conditions?.find((condition) => condition.type === type);
}

/** The status of the init or regular container of that name. */
export function containerOf(status: PodStatus, name: string): ContainerStatus | undefined {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.find((candidate) => candidate.name === name);
}
