/** What counts for containers that ran before the agent started, until their probes speak: a restart of the agent changes no status. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { KnownContainer, RuntimePodStatus } from '../../types/runtime-pod.ts';
import type { ProbeResult } from '../sync/pod-facts.ts';

/** A container that ran for less than this when the agent started may not have been probed yet. */
const PROBED_AFTER_MS = 10_000;

export interface FactsBeforeRestart {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The status that was reported last. */
  readonly previous: PodStatus | undefined;
  /** Unix ms. */
  readonly agentStartedAt: number;
  /** What an earlier agent has remembered, of pods that no API server knows. */
  readonly known?: (containerId: string) => KnownContainer | undefined;
}

/** `containerId`: of the runtime. */
export function resultBeforeRestart(
  facts: FactsBeforeRestart,
  probe: 'startup' | 'readiness',
  containerId: string,
): ProbeResult | undefined {
  const { started, ready } = facts.known?.(containerId) ?? {};
  if ((probe === 'startup' ? started : ready) === true) return 'Success';
  const holds = probe === 'startup' ? hasStarted(facts, containerId) : wasReady(facts, containerId);
  return holds ? 'Success' : undefined;
}

/** A container that has started stays started. */
function hasStarted({ previous }: FactsBeforeRestart, containerId: string): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } = previous ?? {};
  return [...containerStatuses, ...initContainerStatuses].some(
    ({ containerID, started }) => started === true && containerID?.endsWith(`://${containerId}`) === true,
  );
}

/** The API server shows the pod as ready, so all its containers were. */
function wasReady({ pod, podStatus, agentStartedAt }: FactsBeforeRestart, containerId: string): boolean {
  const container = podStatus.containers.find(({ id }) => id === containerId);
  if (container === undefined || container.startedAt >= agentStartedAt - PROBED_AFTER_MS) return false;
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}
