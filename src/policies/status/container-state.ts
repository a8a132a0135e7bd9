/** One instance of a container, as the runtime reports it, in the API's terms. */
import type { ContainerState, ContainerStatus } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../types/runtime-pod.ts';
import type { ContainerFacts } from './container-facts.ts';
import { RESTARTING_ALL_CONTAINERS } from './phase.ts';
import { rfc3339 } from '../formats/time.ts';

type Terminated = NonNullable<ContainerState['terminated']>;

/** The reason of a container that ran, and about whose end the runtime knows nothing. */
export const CONTAINER_STATUS_UNKNOWN = 'ContainerStatusUnknown';
/** The kubelet's words for an end that it did not see. */
export const ENDED_UNSEEN = 'The container could not be located when the pod was terminated';

/** The exit code that a shell gives for a process that was killed (SIGKILL). */
const EXIT_CODE_KILLED = 137;

/** How the API names a container: `containerd://…`. */
export function containerID(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

/** An end that the runtime does not report. It counts as a failure. */
export function inferredTermination(reason: string, message: string): Terminated {
  return { exitCode: EXIT_CODE_KILLED, reason, message };
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
