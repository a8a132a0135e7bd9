import { availableParallelism, cpus, networkInterfaces, totalmem } from 'node:os';
import { resolveCommand } from '../../policies/cri/container-env.ts';
import type { ResolvedCommand } from '../../policies/cri/container-config.ts';
import { nodeAllocatable } from '../../policies/node/node-allocatable.ts';
import { type MachineSize, nodeCapacity } from '../../policies/node/node-capacity.ts';
import { podAddresses } from '../../policies/status/pod-status.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { AdmissionSettings, EvictionConfiguration } from '../../../types/node-settings.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { readHugePages } from './machine-facts.ts';
import { readServerFacts } from '../pods/object-subsystem.ts';
import { fileSystemStats } from '../stats/disks/file-systems.ts';

/** The node's addresses: `given`, else its IPv4 and its IPv6 address, else the loopback address. */
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

/** How many pods may start at the same time. 16 to 32 were the fastest with containerd on two cores. */
export function startsAtOnce(): number {
  return Math.max(16, 4 * availableParallelism());
}

export interface NodeFactsOptions extends AdmissionSettings, Pick<EvictionConfiguration, 'evictionHard'> {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly maxPods: number;
}

/**
 * The node's name, labels, taints, capacity and allocatable. `rootDir` must exist. Rejects with `InvalidArgument` where more is
 * reserved than the machine has. `root`: where `/sys` is.
 */
export async function readNodeFacts(options: NodeFactsOptions, root = '/'): Promise<OwnNodeFacts> {
  const { nodeName: name, nodeLabels, registerWithTaints: taints } = options;
  const [size, { capacityBytes }] = await Promise.all([
    readMachineSize(root),
    fileSystemStats(options.rootDir),
  ]);
  const capacity = nodeCapacity({ ...size, ephemeralStorageBytes: capacityBytes }, options);
  const os = GO_OS[process.platform] ?? process.platform;
  const arch = GO_ARCH[process.arch] ?? process.arch;
  const own = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': os, 'kubernetes.io/arch': arch };
  return {
    name,
    os,
    arch,
    taints,
    capacity,
    labels: { ...own, ...nodeLabels },
    allocatable: nodeAllocatable(capacity, options),
    conditions: [],
  };
}

/** `root`: where `/sys` is. */
export async function readMachineSize(root = '/'): Promise<MachineSize> {
  return { cpus: cpuCount(), memoryBytes: totalmem(), hugePages: await readHugePages(root) };
}

/** Go's names where they differ from Node's. */
const GO_OS: Readonly<Record<string, string>> = { win32: 'windows' };
const GO_ARCH: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
  mipsel: 'mipsle',
};

/** All CPUs of the machine; where the machine does not say, those that this process may use. */
function cpuCount(): number {
  return cpus().length || availableParallelism();
}

/** Resolves references in a container's command, arguments and environment: from the pod, the node and the API server. */
export function commandResolver(
  hostIPs: readonly string[],
  allocatable: ResourceList,
  server?: ApiObjects,
): (
  pod: Pod,
  container: Container | EphemeralContainer,
  podStatus: RuntimePodStatus,
) => Promise<ResolvedCommand> {
  return async (pod, container, podStatus) => {
    const podIPs = podAddresses(pod, podStatus, undefined, hostIPs).podIPs?.map(({ ip }) => ip) ?? [];
    const ofServer = await readServerFacts(server, pod, container);
    return resolveCommand(pod, container, { podIPs, hostIPs, allocatable, ...ofServer });
  };
}
