/**
 * What must survive a restart of the agent although no runtime records it: which postStart hooks have completed, and the results of
 * probes. A restart of the agent changes no status.
 */
import type { Container, Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { KnownContainer, RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { ProbeResult } from '../probes/probe.ts';

/**
 * Adds to containers that run what only their agent knows: that the postStart hook has not completed, since the agent died before, and the
 * resources that they got after they were created. Containers whose agent did not remember completed hooks (the kubelet, an earlier version) count
 * as completed.
 */
export function withRemembered(
  podStatus: RuntimePodStatus,
  known: (containerId: string) => KnownContainer | undefined,
): RuntimePodStatus {
  const containers = podStatus.containers.map((container): RuntimeContainerStatus => {
    const { given, hooked } = (container.state === 'running' ? known(container.id) : undefined) ?? {};
    const owesHook = recordsHook(container) && hooked !== true;
    return owesHook || given
      ? { ...container, ...(owesHook && { owesHook }), ...(given && { given }) }
      : container;
  });
  const isSame = containers.every((container, index) => container === podStatus.containers[index]);
  return isSame ? podStatus : { ...podStatus, containers };
}

/** Whether it runs, and its agent remembers when its hook has completed. */
export function recordsHook({ state, recordsHook }: RuntimeContainerStatus): boolean {
  return state === 'running' && recordsHook === true;
}

export function hasProbedContainers({ spec }: Pod): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(isProbed);
}

interface ProbedContainer {
  /** Of the runtime. */
  readonly containerId: string;
  readonly known: KnownContainer;
}

/** What the status says of the containers that run and have a startup or a readiness probe. */
export function probedContainers({ spec }: Pod, status: PodStatus): readonly ProbedContainer[] {
  const { containerStatuses = [], initContainerStatuses = [] } = status;
  return [...spec.containers, ...(spec.initContainers ?? [])].filter(isProbed).flatMap((container) => {
    const shown = [...containerStatuses, ...initContainerStatuses].find(
      ({ name }) => name === container.name,
    );
    if (shown?.state?.running === undefined || shown.containerID === undefined) return [];
    const containerId = shown.containerID.replace(/^[^:]*:\/\//, '');
    return [{ containerId, known: { started: shown.started === true, ready: shown.ready } }];
  });
}

function isProbed({ startupProbe, readinessProbe }: Container): boolean {
  return startupProbe != null || readinessProbe != null;
}

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
