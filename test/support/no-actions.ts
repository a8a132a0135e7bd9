import type { PodActions } from '../../src/agent/policies/pod-actions/pod-actions.ts';
import { NO_RESIZE } from '../../src/agent/policies/resize/resize-actions.ts';

/** The actions for a pod with that sandbox in which nothing has to change. */
export function noActions(sandboxId: string): PodActions {
  return {
    killPod: false,
    createSandbox: false,
    sandboxId,
    attempt: 0,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: [],
    containersToReset: [],
    resize: NO_RESIZE,
  };
}
