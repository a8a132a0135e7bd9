/** Ports of the node that lead to a pod. */
import type { PortMapping } from '../../types/cri.ts';
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import { isRestartableInitContainer } from '../sync/restart.ts';

/** The ports of the node that the pod takes: those of all containers that stay, sidecars included. */
export function hostPorts({ containers, initContainers = [] }: PodSpec): PortMapping[] {
  return [...containers, ...initContainers.filter(isRestartableInitContainer)]
    .flatMap(ofContainer)
    .filter(({ hostPort }) => hostPort !== 0);
}

/**
 * What the runtime is told, as the kubelet tells it: every port of the regular containers, with or without a port of the
 * node, and none of init containers. The runtime maps those that have a port of the node.
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
