/** Which namespaces of the kernel a pod's containers share, and with whom. */
import type { NamespaceOption, UserNamespace } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { PodSpec } from '../../types/kubernetes.ts';

const NODE_USERS: UserNamespace = { mode: 'NODE', uids: [], gids: [] };

/**
 * `users`: the ids that the node has set apart for a pod with users of its own. Throws a StateletError of kind
 * InvalidArgument for such a pod where there are none: run without a user namespace, it would be root of the whole node.
 */
export function podNamespaces(spec: PodSpec, users: UserNamespace | undefined): NamespaceOption {
  if (spec.hostUsers === false && !users) {
    throw new StateletError(
      'InvalidArgument',
      "can't set `spec.hostUsers: false`: this runtime has no user namespaces; leave it out, or set it to true",
    );
  }
  return {
    network: spec.hostNetwork ? 'NODE' : 'POD',
    pid: pidNamespace(spec),
    ipc: spec.hostIPC ? 'NODE' : 'POD',
    usernsOptions: users ?? NODE_USERS,
  };
}

function pidNamespace({ hostPID, shareProcessNamespace }: PodSpec): NamespaceOption['pid'] {
  if (hostPID) return 'NODE';
  return shareProcessNamespace ? 'POD' : 'CONTAINER';
}
