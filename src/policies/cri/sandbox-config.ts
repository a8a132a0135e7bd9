/** The configuration by which a runtime creates a pod's sandbox. */
import type { PodSandboxConfig, UserNamespace } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { podLogsFolder, sandboxLabels } from './cri-labels.ts';
import { overheadResources, type ResourceFacts, sandboxResources } from './linux-resources.ts';
import { type NodeDNS, podDNS } from '../network/pod-dns.ts';
import { podHostname } from '../network/pod-hostname.ts';
import { portMappings } from '../network/port-mappings.ts';
import { sandboxSecurityContext } from '../security/security-context.ts';
import { podSysctls } from '../security/sysctls.ts';

export interface SandboxFacts {
  readonly podLogsDir: string;
  /** Without it the runtime decides about DNS. */
  readonly dns?: NodeDNS;
  /** The domain of pods with a subdomain ends in it. By default that of `dns`. */
  readonly clusterDomain?: string;
  /** The pod's cgroup. */
  readonly cgroupParent?: string;
  /** Without them the configuration has no resources. */
  readonly resources?: ResourceFacts;
  /** The ids that the node has reserved for a pod with hostUsers: false. */
  readonly users?: UserNamespace;
  /** Groups that the pod's volumes give its containers. */
  readonly volumeGroups?: readonly number[];
}

/** Throws a StateletError of kind InvalidArgument for a pod that can have no sandbox. */
export function podSandboxConfig(pod: Pod, attempt: number, facts: SandboxFacts): PodSandboxConfig {
  const { name, namespace, uid, annotations } = pod.metadata;
  const { dns, clusterDomain = dns?.clusterDomain ?? '' } = facts;
  const ports = portMappings(pod.spec);
  return {
    metadata: { name, namespace, uid, attempt },
    // On the node's network the pod has the node's host name. The runtime knows it and must not change it.
    ...(!pod.spec.hostNetwork && { hostname: podHostname(pod, clusterDomain) }),
    logDirectory: `${facts.podLogsDir}/${podLogsFolder({ name, namespace, uid })}`,
    ...(dns && { dnsConfig: podDNS(pod, dns).config }),
    ...(ports.length > 0 && { portMappings: ports }),
    labels: sandboxLabels(pod),
    annotations: { ...annotations },
    linux: sandboxLinux(pod, facts),
  };
}

function sandboxLinux(
  pod: Pod,
  { cgroupParent, resources, users, volumeGroups }: SandboxFacts,
): PodSandboxConfig['linux'] {
  const sysctls = podSysctls(pod.spec);
  return {
    ...(cgroupParent !== undefined && { cgroupParent }),
    securityContext: sandboxSecurityContext(pod, users, volumeGroups),
    ...(sysctls && { sysctls }),
    ...(resources && {
      overhead: overheadResources(pod, resources),
      resources: sandboxResources(pod, resources),
    }),
  };
}
