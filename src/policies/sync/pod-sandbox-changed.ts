/** Whether the pod's newest sandbox can be kept. */
import type { Pod } from '../../types/kubernetes.ts';
import type { RuntimePodStatus, RuntimeSandboxStatus } from '../../types/runtime-pod.ts';

export interface SandboxVerdict {
  readonly changed: boolean;
  /** Of the sandbox to use: the present one's, or the next one's. */
  readonly attempt: number;
  /** The newest sandbox; empty where there is none, or where it belongs to another network than the pod. */
  readonly sandboxId: string;
}

/**
 * A new sandbox is needed when there is none, when the newest is not the only one that is ready, when the pod has moved
 * to or from the host's network, and when a sandbox that should have an address has none.
 */
export function podSandboxChanged(pod: Pod, { sandboxes }: RuntimePodStatus): SandboxVerdict {
  const newest = sandboxes[0];
  if (!newest) return { changed: true, attempt: 0, sandboxId: '' };
  const replaced = { changed: true, attempt: newest.attempt + 1, sandboxId: newest.id };
  if (!newest.ready || sandboxes.filter(({ ready }) => ready).length > 1) return replaced;
  if (newest.networkMode !== wantedNetworkMode(pod)) return { ...replaced, sandboxId: '' };
  if (lacksAddress(pod, newest)) return replaced;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}

function wantedNetworkMode(pod: Pod): 'NODE' | 'POD' {
  return pod.spec.hostNetwork === true ? 'NODE' : 'POD';
}

/** A runtime that does not speak of addresses at all is believed. */
function lacksAddress(pod: Pod, sandbox: RuntimeSandboxStatus): boolean {
  return pod.spec.hostNetwork !== true && sandbox.ip === '';
}
