import { TERMINATION_MESSAGE_PATH_ANNOTATION } from '../../policies/cri-labels.ts';
import type { ContainerStatus } from '../../types/cri.ts';
import { terminationMessage } from '../termination-message.ts';
import type { WireContainerStatus } from './container-messages.ts';

/** A container's status with what it has left as its termination message. Reads files of this machine. */
export function containerStatus(status: WireContainerStatus, podSandboxId: string): ContainerStatus {
  if (status.state !== 'CONTAINER_EXITED') return { ...status, podSandboxId };
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
