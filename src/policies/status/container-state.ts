/** One instance of a container, as the runtime reports it, in the API's terms. */
import type { ContainerState, ContainerStatus } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../types/runtime-pod.ts';
import type { ContainerFacts } from './container-facts.ts';
import { RESTARTING_ALL_CONTAINERS } from './phase.ts';
import { rfc3339 } from '../formats/time.ts';

type Terminated = NonNullable<ContainerState['terminated']>;

/** Reason of a container that did run, and of whose end nothing is known. */
export const CONTAINER_STATUS_UNKNOWN = 'ContainerStatusUnknown';
/** The kubelet's words for an end that went by unseen. */
export const ENDED_UNSEEN = 'The container could not be located when the pod was terminated';

/** What a shell would say of a process that was killed. */
const EXIT_CODE_KILLED = 137;

/** How the API names a container of whatever runtime: `containerd://…`. */
export function containerID(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

/** An end that is inferred, since the runtime has nothing to say about it: taken for a failure. */
export function inferredTermination(reason: string, message: string): Terminated {
  return { exitCode: EXIT_CODE_KILLED, reason, message };
}

/** `old` is what the API showed of the container before: it tells whether an instance in an unknown state did run. */
export function containerState(
  instance: RuntimeContainerStatus,
  { runtimeName, podRestarting }: Pick<ContainerFacts, 'runtimeName' | 'podRestarting'>,
  old: ContainerStatus | undefined,
): ContainerState {
  switch (instance.state) {
    case 'running':
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
