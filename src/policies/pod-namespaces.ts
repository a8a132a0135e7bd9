/** Which namespaces of the kernel a pod's containers share, and with whom. */
import type { NamespaceOption } from '../types/cri.ts';
import { StateletError } from '../types/errors.ts';
import type { PodSpec } from '../types/kubernetes.ts';

export const USER_NAMESPACES_UNSUPPORTED =
  'user namespaces are not supported: leave it out, or set it to true';

/**
 * Throws a StateletError of kind InvalidArgument for a pod that asks for a user namespace: run without one, it would be root
 * of the whole node.
 */
export function podNamespaces(spec: PodSpec): NamespaceOption {
  if (spec.hostUsers === false) {
    throw new StateletError('InvalidArgument', `spec.hostUsers: ${USER_NAMESPACES_UNSUPPORTED}`);
  }
  return {
    network: spec.hostNetwork ? 'NODE' : 'POD',
    pid: pidNamespace(spec),
    ipc: spec.hostIPC ? 'NODE' : 'POD',
  };
}

function pidNamespace({ hostPID, shareProcessNamespace }: PodSpec): NamespaceOption['pid'] {
  if (hostPID) return 'NODE';
  return shareProcessNamespace ? 'POD' : 'CONTAINER';
}
