import { availableParallelism, networkInterfaces, totalmem } from 'node:os';
import { resolveCommand } from '../policies/container-env.ts';
import type { ResolvedCommand } from '../policies/container-config.ts';
import { podAddresses } from '../policies/pod-addresses.ts';
import type { Container, EphemeralContainer, Pod } from '../types/kubernetes.ts';
import type { RuntimePodStatus } from '../types/runtime-pod.ts';

/** Addresses of this node: those that were `given`, else IPv4 before IPv6, loopback only where there is nothing else. */
export function nodeAddresses(
  given: readonly string[] = [],
  interfaces = networkInterfaces(),
): readonly string[] {
  if (given.length > 0) return given;
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const usable = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const first = (family: string) => usable.find((address) => address.family === family)?.address;
  const found = [first('IPv4'), first('IPv6')].filter((address) => address !== undefined);
  return found.length > 0 ? found : ['127.0.0.1'];
}

/** How many starts at a time this node gets through best: measured with containerd on two cores, 16 to 32. */
export function startsAtOnce(): number {
  return Math.max(16, 4 * availableParallelism());
}

/** What this node can give to pods, by resource name, as quantities. */
export function nodeAllocatable(): Readonly<Record<string, string>> {
  return { cpu: String(availableParallelism()), memory: String(totalmem()) };
}

/** Fills in what a container's command, arguments and environment refer to, from the pod and from this node. */
export function commandResolver(
  hostIPs: readonly string[],
): (pod: Pod, container: Container | EphemeralContainer, podStatus: RuntimePodStatus) => ResolvedCommand {
  const allocatable = nodeAllocatable();
  return (pod, container, podStatus) => {
    const podIPs = podAddresses(pod, podStatus, undefined, hostIPs).podIPs?.map(({ ip }) => ip) ?? [];
    return resolveCommand(pod, container, { podIPs, hostIPs, allocatable });
  };
}
