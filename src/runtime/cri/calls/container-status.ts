import { TERMINATION_MESSAGE_PATH_ANNOTATION } from '../../../policies/cri/cri-labels.ts';
import type { ContainerStatus } from '../../../types/cri.ts';
import { terminationMessage } from '../../pods/termination-message.ts';
import type { WireContainerStatus } from '../messages/container-messages.ts';

/** How containerd says that it had made nothing yet of a start when whoever had asked for it went away. */
const START_GIVEN_UP = /^failed to create containerd task: .*context canceled/;

/** A container's status with what it has left as its termination message. Reads files of this machine. */
export function containerStatus(status: WireContainerStatus, podSandboxId: string): ContainerStatus {
  if (status.state !== 'CONTAINER_EXITED') return { ...status, podSandboxId };
  if (START_GIVEN_UP.test(status.message)) return { ...unstarted(status), podSandboxId };
  const path = status.annotations[TERMINATION_MESSAGE_PATH_ANNOTATION];
  const own = terminationMessage(status, {
    message: status.mounts?.find(({ containerPath }) => containerPath === path)?.hostPath,
    // The file is made anew for every container.
    writtenSinceMs: 0,
    log: status.logPath === '' ? undefined : status.logPath,
  });
  const message = [status.message, own].filter((part) => part !== '').join(': ');
  return { ...status, podSandboxId, message };
}

/** The death of an agent is no end of a container: this one has never run, whatever the runtime calls it. */
function unstarted(status: WireContainerStatus): WireContainerStatus {
  return { ...status, state: 'CONTAINER_CREATED', finishedAt: 0, exitCode: 0, reason: '', message: '' };
}
