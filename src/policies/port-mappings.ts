/** Ports of the node that lead to a pod. */
import type { PortMapping } from '../types/cri.ts';
import type { Container, PodSpec } from '../types/kubernetes.ts';
import { isRestartableInitContainer } from './restart.ts';

/**
 * Host ports of all containers that stay, sidecars included. Ports without a host port are only information: the kubelet
 * sends these too, and runtimes pass them over.
 */
export function hostPorts({ containers, initContainers = [] }: PodSpec): PortMapping[] {
  return [...containers, ...initContainers.filter(isRestartableInitContainer)].flatMap(ofContainer);
}

/** What the runtime is asked to map. On the node's own network there is nothing to map. */
export function portMappings(spec: PodSpec): PortMapping[] {
  return spec.hostNetwork ? [] : hostPorts(spec);
}

function ofContainer({ ports = [] }: Container): PortMapping[] {
  return ports.flatMap(({ protocol = 'TCP', containerPort, hostPort, hostIP = '' }) =>
    hostPort
      ? [{ protocol: protocol as PortMapping['protocol'], containerPort, hostPort, hostIp: hostIP }]
      : [],
  );
}
