/** Ports of the node that lead to a pod. */
import type { PortMapping } from '../types/cri.ts';
import type { Container, PodSpec } from '../types/kubernetes.ts';
import { isRestartableInitContainer } from './restart.ts';

/**
 * Host ports of all containers that stay, sidecars included. Ports without a host port are only information, and on the
 * node's own network there is nothing to map: the kubelet sends these too, and runtimes pass them over.
 */
export function portMappings({ hostNetwork, containers, initContainers = [] }: PodSpec): PortMapping[] {
  if (hostNetwork) return [];
  return [...containers, ...initContainers.filter(isRestartableInitContainer)].flatMap(ofContainer);
}

function ofContainer({ ports = [] }: Container): PortMapping[] {
  return ports.flatMap(({ protocol = 'TCP', containerPort, hostPort, hostIP = '' }) =>
    hostPort
      ? [{ protocol: protocol as PortMapping['protocol'], containerPort, hostPort, hostIp: hostIP }]
      : [],
  );
}
