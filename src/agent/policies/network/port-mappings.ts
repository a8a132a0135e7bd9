/** The ports of a pod, and those of the node that lead to them. */
import type { PortMapping } from '../../../types/cri.ts';
import type { Container, PodSpec } from '../../../types/kubernetes.ts';
import { isRestartableInitContainer } from '../pod-actions/restart.ts';

/** The ports of the node that the pod uses: those of regular containers and sidecars. */
export function hostPorts({ containers, initContainers = [] }: PodSpec): PortMapping[] {
  return [...containers, ...initContainers.filter(isRestartableInitContainer)]
    .flatMap(ofContainer)
    .filter(({ hostPort }) => hostPort !== 0);
}

/**
 * The mappings for the runtime, as the kubelet gives them: every port of the regular containers, with or without a port of
 * the node, and no port of init containers. The runtime maps the ports that have a port of the node.
 */
export function portMappings({ containers }: PodSpec): PortMapping[] {
  return containers.flatMap(ofContainer);
}

function ofContainer({ ports = [] }: Container): PortMapping[] {
  return ports.map(({ protocol = 'TCP', containerPort, hostPort = 0, hostIP = '' }) => ({
    protocol: protocol as PortMapping['protocol'],
    containerPort,
    hostPort,
    hostIp: hostIP,
  }));
}
