import { TERMINATION_MESSAGE_PATH_ANNOTATION } from '../../../policies/cri/cri-labels.ts';
import type { ContainerStatus } from '../../../types/cri.ts';
import { terminationMessage } from '../../pods/termination-message.ts';
import type { WireContainerStatus } from '../messages/container-messages.ts';

/** containerd's message if the client of StartContainer went away before the process was started. */
const START_GIVEN_UP = /^failed to create containerd task: .*context canceled/;

/** A container's status with its termination message, which is read from files of this machine. */
export function containerStatus(status: WireContainerStatus, podSandboxId: string): ContainerStatus {
  if (status.state !== 'CONTAINER_EXITED') return { ...status, podSandboxId };
  if (START_GIVEN_UP.test(status.message)) return { ...unstarted(status), podSandboxId };
  const path = status.annotations[TERMINATION_MESSAGE_PATH_ANNOTATION];
  const own = terminationMessage(status, {
    message: status.mounts?.find(({ containerPath }) => containerPath === path)?.hostPath,
    // Each container has a new file.
    writtenSinceMs: 0,
    log: status.logPath === '' ? undefined : status.logPath,
  });
  const message = [status.message, own].filter((part) => part !== '').join(': ');
  return { ...status, podSandboxId, message };
}

/** The agent died during the start: the container has never run, although the runtime calls it exited. */
function unstarted(status: WireContainerStatus): WireContainerStatus {
  return { ...status, state: 'CONTAINER_CREATED', finishedAt: 0, exitCode: 0, reason: '', message: '' };
}
