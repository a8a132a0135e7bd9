/** Whether the node's ports that a pod wants are free. */
import type { PortMapping } from '../types/cri.ts';
import type { Pod } from '../types/kubernetes.ts';
import { hostPorts } from './port-mappings.ts';

const ANY_ADDRESS = '0.0.0.0';

export function areHostPortsFree(pod: Pod, otherPods: readonly Pod[]): boolean {
  const wanted = hostPorts(pod.spec);
  if (wanted.length === 0) return true;
  return !otherPods.some(({ spec }) =>
    hostPorts(spec).some((used) => wanted.some((port) => conflict(port, used))),
  );
}

function conflict(a: PortMapping, b: PortMapping): boolean {
  if (a.hostPort !== b.hostPort || a.protocol !== b.protocol) return false;
  const [one, other] = [a.hostIp || ANY_ADDRESS, b.hostIp || ANY_ADDRESS];
  return one === other || one === ANY_ADDRESS || other === ANY_ADDRESS;
}
