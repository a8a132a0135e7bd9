/** Whether the node's ports that a pod wants are free. */
import type { PortMapping } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { HeldResources } from './held-resources.ts';
import { hostPorts } from '../network/port-mappings.ts';

const ANY_ADDRESS = '0.0.0.0';

export function areHostPortsFree(pod: Pod, held: HeldResources): boolean {
  return hostPorts(pod.spec).every(
    (port) => !held.portsOf(port.hostPort).some((used) => conflict(port, used)),
  );
}

function conflict(a: PortMapping, b: PortMapping): boolean {
  if (a.hostPort !== b.hostPort || a.protocol !== b.protocol) return false;
  const [one, other] = [a.hostIp || ANY_ADDRESS, b.hostIp || ANY_ADDRESS];
  return one === other || one === ANY_ADDRESS || other === ANY_ADDRESS;
}
