import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

type Addresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/**
 * The addresses in a pod's status. A pod that has no sandbox left keeps the address that it had, and one on the host's
 * network has the host's, `hostIPs`, of which the first is the primary one.
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
  const told = oneOfEachFamily(newest?.ips ?? (newest?.ip ? [newest.ip] : []), primaryHostIP);
  if (newest?.ready) return told;
  if (sandboxes.some(({ ready }) => ready)) return [];
  // Most runtimes forget the address of a sandbox that has ended. One that does not helps an agent that comes later.
  return previous?.podIPs?.map(({ ip }) => ip) ?? told;
}

/** As the API wants them: the first of the node's primary family, then the first of the other one. */
function oneOfEachFamily(ips: readonly string[], primaryHostIP: string | undefined): readonly string[] {
  const primary = isIPv6(primaryHostIP ?? ips[0] ?? '');
  const first = (v6: boolean) => ips.find((ip) => isIPv6(ip) === v6);
  return [first(primary), first(!primary)].filter((ip) => ip !== undefined);
}

function isIPv6(ip: string): boolean {
  return ip.includes(':');
}
