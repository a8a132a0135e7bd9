import { parseIPAddress } from '../formats/ip-address.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

type Addresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/**
 * The addresses in a pod's status. A pod whose sandbox has ended keeps its address. A pod on the host's network has the
 * addresses of the host, `hostIPs`. The first of these is the primary one.
 */
export function podAddresses(
  pod: Pod,
  podStatus: RuntimePodStatus,
  previous: PodStatus | undefined,
  hostIPs: readonly string[],
): Addresses {
  const own = podIPsOf(podStatus, previous, hostIPs[0]);
  const podIPs = own.length === 0 && pod.spec.hostNetwork === true ? hostIPs : own;
  return {
    ...(hostIPs.length > 0 && { hostIP: hostIPs[0], hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIPs.length > 0 && { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}

function podIPsOf(
  { sandboxes }: RuntimePodStatus,
  previous: PodStatus | undefined,
  primaryHostIP: string | undefined,
): readonly string[] {
  const newest = sandboxes[0];
  const reported = oneOfEachFamily(newest?.ips ?? (newest?.ip ? [newest.ip] : []), primaryHostIP);
  if (newest?.ready) return reported;
  if (sandboxes.some(({ ready }) => ready)) return [];
  // Most runtimes forget the address of a sandbox that has ended. If this one does not, it helps after a restart of the agent.
  return previous?.podIPs?.map(({ ip }) => ip) ?? reported;
}

/**
 * As the API requires: the first address of the node's primary family, then the first of the other family, each in its usual
 * spelling. What is no address is left out.
 */
function oneOfEachFamily(ips: readonly string[], primaryHostIP: string | undefined): readonly string[] {
  const addresses = ips.map(parseIPAddress).filter((address) => address !== undefined);
  const isPrimaryIPv4 = (parseIPAddress(primaryHostIP ?? '') ?? addresses[0])?.isIPv4 ?? true;
  const first = (ofIPv4: boolean) => addresses.find(({ isIPv4 }) => isIPv4 === ofIPv4)?.text;
  return [first(isPrimaryIPv4), first(!isPrimaryIPv4)].filter((ip) => ip !== undefined);
}
