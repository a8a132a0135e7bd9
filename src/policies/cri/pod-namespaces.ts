/** Which kernel namespaces a pod's containers share with each other or with the node. */
import type { NamespaceOption, UserNamespace } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { PodSpec } from '../../types/kubernetes.ts';

const NODE_USERS: UserNamespace = { mode: 'NODE', uids: [], gids: [] };

/**
 * `users`: the ids that the node has reserved for a pod with hostUsers: false. Throws a StateletError of kind InvalidArgument
 * if such a pod has none: without a user namespace its root would be root of the node.
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
