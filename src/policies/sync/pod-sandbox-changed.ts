/** Whether the pod's newest sandbox can be kept. */
import type { Pod } from '../../types/kubernetes.ts';
import type { RuntimePodStatus, RuntimeSandboxStatus } from '../../types/runtime-pod.ts';

export interface SandboxVerdict {
  readonly changed: boolean;
  /** The attempt of the sandbox to use: of the present one, or of the next one. */
  readonly attempt: number;
  /** The id of the newest sandbox; empty where there is none, or where its network is not the one that the pod wants. */
  readonly sandboxId: string;
}

/**
 * A new sandbox is needed when there is none, when the newest is not the only one that is ready, when the pod wants the
 * host's network and the sandbox has its own (or the reverse), and when a sandbox that should have an address has none.
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

/** An undefined address does not count as missing: such a runtime tells no addresses at all. */
function lacksAddress(pod: Pod, sandbox: RuntimeSandboxStatus): boolean {
  return pod.spec.hostNetwork !== true && sandbox.ip === '';
}
