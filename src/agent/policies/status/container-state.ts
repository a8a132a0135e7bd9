/** The state of one container in the API's terms: from its instance in the runtime, or where there is none, from what was reported before. */
import type { Container, ContainerState, ContainerStatus, Pod } from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { rfc3339 } from '../formats/time.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';
import { startsNoMore } from '../pod-actions/pod-actions.ts';
import { containerStatusByName, isRestartableInitContainer } from '../pod-actions/restart.ts';
import { RESTARTING_ALL_CONTAINERS } from './phase.ts';
import { SIGKILL_EXIT_CODE } from '../../../types/cri.ts';

type Terminated = NonNullable<ContainerState['terminated']>;

/** The reason of a container that ran, and about whose end the runtime knows nothing. */
export const CONTAINER_STATUS_UNKNOWN = 'ContainerStatusUnknown';
/** The kubelet's words for an end that it did not see. */
export const ENDED_UNSEEN = 'The container could not be located when the pod was terminated';

/** How the API names a container: `containerd://…`. */
export function containerID(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

/** An end that the runtime does not report. It counts as a failure. */
export function inferredTermination(reason: string, message: string): Terminated {
  return { exitCode: SIGKILL_EXIT_CODE, reason, message };
}

/** `old` is the status that was reported before: it tells whether an instance whose state is unknown had run. */
export function containerState(
  instance: RuntimeContainerStatus,
  { runtimeName, podRestarting }: Pick<ContainerFacts, 'runtimeName' | 'podRestarting'>,
  old: ContainerStatus | undefined,
): ContainerState {
  switch (instance.state) {
    case 'running':
      // As while the agent that has started it waits for its hook.
      if (instance.owesHook) return { waiting: { reason: 'ContainerCreating' } };
      return { running: { startedAt: rfc3339(instance.startedAt) } };
    case 'exited':
      return { terminated: terminatedState(instance, runtimeName) };
    case 'unknown':
      return old?.state?.running ? { terminated: endedUnseen(podRestarting) } : { waiting: {} };
    case 'created':
      return { waiting: {} };
  }
}

function endedUnseen(podRestarting: boolean): Terminated {
  const reason = podRestarting ? RESTARTING_ALL_CONTAINERS : CONTAINER_STATUS_UNKNOWN;
  return inferredTermination(reason, ENDED_UNSEEN);
}

function terminatedState(instance: RuntimeContainerStatus, runtimeName: string): Terminated {
  const { exitCode, reason, message } = instance;
  return {
    exitCode,
    ...(reason !== '' && { reason }),
    ...(message !== '' && { message }),
    startedAt: rfc3339(instance.startedAt),
    finishedAt: rfc3339(instance.finishedAt),
    containerID: containerID(runtimeName, instance.id),
  };
}

/** Why the last attempt to start a container failed. */
export interface StartFailure {
  /** `CrashLoopBackOff`, `ImagePullBackOff`, `CreateContainerConfigError`, … */
  readonly reason: string;
  readonly message: string;
}

export interface ContainerFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** By container name. A container that has been started since has no entry. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  /** All containers of the pod start over in the same sandbox (`shouldAllContainersRestart`). */
  readonly podRestarting: boolean;
  /** The part of a container's id before `://`. */
  readonly runtimeName: string;
}

export type ContainerKind = 'regular' | 'init' | 'ephemeral';

// The status of a container of which the runtime holds no instance. Either it has not been created yet, or the runtime has
// forgotten it: the status that was reported before tells which.

const REMOVED_IN_PLACE = 'The container is removed because RestartAllContainers in place';

const USED_TO_RUN =
  'The container could not be located when the pod was deleted.  The container used to be Running';

const INITIALIZED_ANYWAY =
  'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

export function forgottenContainerStatus(
  facts: ContainerFacts,
  container: Container,
  old: ContainerStatus | undefined,
): ContainerStatus {
  return { ...lastKnown(facts, container, old), ...(old && lossOf(facts, old)) };
}

/** An init container without instance has succeeded if regular containers have been created, since those come after it. */
export function inferredCompletion(
  facts: ContainerFacts,
  kind: ContainerKind,
  container: Container,
  status: ContainerStatus,
): ContainerStatus | undefined {
  if (!status.state?.waiting || !mustHaveSucceeded(facts, kind, container)) return undefined;
  return {
    ...status,
    state: { terminated: { exitCode: 0, reason: 'Completed', message: INITIALIZED_ANYWAY } },
  };
}

/**
 * The end of a container without instance in a static pod that starts nothing more, as the kubelet reports it of a pod that has been
 * terminated. What comes after an init container that has failed was never started, and waits. A pod of the API server has the status there,
 * which `forgottenContainerStatus` builds upon.
 */
export function inferredEnd(
  { pod, podStatus }: ContainerFacts,
  status: ContainerStatus,
): ContainerStatus | undefined {
  if (!isStaticPod(pod) || !startsNoMore(pod, podStatus)) return undefined;
  if (isAfterFailedInit(pod, podStatus, status.name)) return undefined;
  const terminated = status.state?.terminated ?? inferredTermination(CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN);
  return { ...status, state: { terminated } };
}

function isAfterFailedInit({ spec }: Pod, podStatus: RuntimePodStatus, name: string): boolean {
  const { initContainers = [] } = spec;
  const own = initContainers.findIndex((container) => container.name === name);
  return initContainers.slice(0, own < 0 ? undefined : own).some((container) => {
    const { state, exitCode } = containerStatusByName(podStatus, container.name) ?? {};
    return !isRestartableInitContainer(container) && state === 'exited' && exitCode !== 0;
  });
}

/** A reported end is kept, `containerID` included; from any other state the container goes back to waiting. */
function lastKnown(
  { pod }: ContainerFacts,
  container: Container,
  old: ContainerStatus | undefined,
): ContainerStatus {
  if (old?.state?.terminated) return old;
  const reason = pod.spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating';
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ready: false,
    restartCount: old?.restartCount ?? 0,
    state: { waiting: { reason } },
    ...(old?.lastState && { lastState: old.lastState }),
  };
}

/** What a container that was reported before loses with its instance: if it ran, its status must still show that it did. */
function lossOf({ pod, podRestarting }: ContainerFacts, old: ContainerStatus): Partial<ContainerStatus> {
  // A container that was waiting had no instance that could be removed.
  if (podRestarting && !old.state?.waiting) {
    return {
      state: { waiting: { reason: RESTARTING_ALL_CONTAINERS, message: REMOVED_IN_PLACE } },
      lastState: { terminated: inferredTermination(RESTARTING_ALL_CONTAINERS, REMOVED_IN_PLACE) },
      restartCount: old.restartCount + 1,
    };
  }
  if (!old.state?.running || old.lastState?.terminated) return {};
  return {
    lastState: { terminated: inferredTermination(CONTAINER_STATUS_UNKNOWN, USED_TO_RUN) },
    // A pod that is not being deleted will start it again.
    restartCount: old.restartCount + (pod.metadata.deletionTimestamp == null ? 1 : 0),
  };
}

/** Regular containers are only created once every init container has succeeded. */
function mustHaveSucceeded(
  { pod, podStatus }: ContainerFacts,
  kind: ContainerKind,
  container: Container,
): boolean {
  if (kind !== 'init' || isRestartableInitContainer(container)) return false;
  return pod.spec.containers.some(({ name }) => {
    const state = containerStatusByName(podStatus, name)?.state;
    return state !== undefined && state !== 'unknown';
  });
}
