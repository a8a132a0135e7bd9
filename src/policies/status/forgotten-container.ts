/**
 * The status of a container of which the runtime holds no instance. Either it has not been created yet, or the runtime has
 * forgotten it: the status that was reported before tells which.
 */
import type { Container, ContainerStatus } from '../../types/kubernetes.ts';
import type { ContainerFacts, ContainerKind } from './container-facts.ts';
import { CONTAINER_STATUS_UNKNOWN, inferredTermination } from './container-state.ts';
import { RESTARTING_ALL_CONTAINERS } from './phase.ts';
import { containerStatusByName, isRestartableInitContainer } from '../sync/restart.ts';

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
  if (!status.state?.waiting || !hasDoneItsPart(facts, kind, container)) return undefined;
  return {
    ...status,
    state: { terminated: { exitCode: 0, reason: 'Completed', message: INITIALIZED_ANYWAY } },
  };
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
function hasDoneItsPart(
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
