import { availableParallelism, cpus, networkInterfaces, totalmem } from 'node:os';
import { resolveCommand } from '../../policies/cri/container-env.ts';
import type { ResolvedCommand } from '../../policies/cri/container-config.ts';
import { nodeAllocatable } from '../../policies/node/node-allocatable.ts';
import { nodeCapacity } from '../../policies/node/node-capacity.ts';
import { podAddresses } from '../../policies/status/pod-addresses.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { AdmissionSettings } from '../../types/admission-settings.ts';
import type { EvictionConfiguration } from '../../types/eviction-configuration.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { OwnNodeFacts } from '../../types/node-facts.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { readHugePages } from './machine-facts.ts';
import { fileSystemStats } from '../stats/disks/file-systems.ts';

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

export interface NodeFactsOptions extends AdmissionSettings, Pick<EvictionConfiguration, 'evictionHard'> {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly maxPods: number;
}

/**
 * What this machine and its operator make the node; `rootDir` has to be there. Rejects with `InvalidArgument` where more is
 * reserved than there is. `root`: where `/sys` is.
 */
export async function readNodeFacts(options: NodeFactsOptions, root = '/'): Promise<OwnNodeFacts> {
  const { nodeName: name, nodeLabels, registerWithTaints: taints } = options;
  const [hugePages, { capacityBytes }] = await Promise.all([
    readHugePages(root),
    fileSystemStats(options.rootDir),
  ]);
  const size = { cpus: cpuCount(), memoryBytes: totalmem(), ephemeralStorageBytes: capacityBytes, hugePages };
  const capacity = nodeCapacity(size, options);
  const os = GO_OS[process.platform] ?? process.platform;
  const arch = GO_ARCH[process.arch] ?? process.arch;
  const own = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': os, 'kubernetes.io/arch': arch };
  return {
    ...{ name, os, arch, taints, capacity },
    labels: { ...own, ...nodeLabels },
    allocatable: nodeAllocatable(capacity, options),
    conditions: [],
  };
}

/** What Go calls differently. */
const GO_OS: Readonly<Record<string, string>> = { win32: 'windows' };
const GO_ARCH: Readonly<Record<string, string>> = {
  ...{ x64: 'amd64', ia32: '386', ppc64: 'ppc64le', mipsel: 'mipsle' },
};

/** Those of the machine, not only those that this process may use; some machines do not tell. */
function cpuCount(): number {
  return cpus().length || availableParallelism();
}

/** Fills in what a container's command, arguments and environment refer to, from the pod and from this node. */
export function commandResolver(
  hostIPs: readonly string[],
  allocatable: ResourceList,
): (pod: Pod, container: Container | EphemeralContainer, podStatus: RuntimePodStatus) => ResolvedCommand {
  return (pod, container, podStatus) => {
    const podIPs = podAddresses(pod, podStatus, undefined, hostIPs).podIPs?.map(({ ip }) => ip) ?? [];
    return resolveCommand(pod, container, { podIPs, hostIPs, allocatable });
  };
}
