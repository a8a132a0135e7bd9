/** The configuration by which a runtime creates a pod's sandbox, and the runtime's handler for the pod's RuntimeClass. */
import type { PodSandboxConfig, UserNamespace } from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { type NodeDNS, podDNS } from '../network/pod-dns.ts';
import { podHostname } from '../network/pod-hostname.ts';
import { portMappings } from '../network/port-mappings.ts';
import { sandboxSecurityContext } from '../security/security-context.ts';
import { podSysctls } from '../security/sysctls.ts';
import { podLogsFolder, sandboxAnnotations, sandboxLabels } from './cri-labels.ts';
import { NO_QUOTA, overheadResources, type ResourceFacts, sandboxResources } from './linux-resources.ts';

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
  /** Whether a container of the pod has CPUs for itself. */
  readonly hasOwnCpus?: boolean;
  /** The ids that the node has reserved for a pod with hostUsers: false. */
  readonly users?: UserNamespace;
  /** Groups that the pod's volumes give its containers. */
  readonly volumeGroups?: readonly number[];
}

/** Throws a StateletError of kind InvalidArgument for a pod that can have no sandbox. */
export function podSandboxConfig(pod: Pod, attempt: number, facts: SandboxFacts): PodSandboxConfig {
  const { name, namespace, uid } = pod.metadata;
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
    annotations: sandboxAnnotations(pod),
    linux: sandboxLinux(pod, facts),
  };
}

function sandboxLinux(
  pod: Pod,
  { cgroupParent, resources, hasOwnCpus, users, volumeGroups }: SandboxFacts,
): PodSandboxConfig['linux'] {
  const sysctls = podSysctls(pod.spec);
  return {
    cgroupParent,
    securityContext: sandboxSecurityContext(pod, users, volumeGroups),
    sysctls,
    ...(resources && {
      overhead: overheadResources(pod, resources),
      resources: {
        ...sandboxResources(pod, resources),
        ...(hasOwnCpus && resources.cpuCFSQuota && { cpuQuota: NO_QUOTA }),
      },
    }),
  };
}

/** The RuntimeClasses that the node knows, as they are now. */
export interface RuntimeClasses {
  /** Handlers by the names of their classes. An empty handler is the runtime's default. */
  readonly handlers: ReadonlyMap<string, string>;
  /** Whether they come from the API server, and not only from the node's own settings. */
  readonly areOfCluster: boolean;
}

/** The classes that the settings of the node name, each as `NAME=HANDLER`. */
export function runtimeClassesOf(texts: readonly string[]): RuntimeClasses {
  return { handlers: new Map(texts.map(nameAndHandler)), areOfCluster: false };
}

function nameAndHandler(text: string): [string, string] {
  const [name = '', handler = ''] = text.split('=');
  return [name, handler];
}

/**
 * The runtime handler of a pod's RuntimeClass; undefined: the runtime's default. Throws a StateletError of kind FailedPrecondition
 * for a class that is not known: a pod that asks for a special sandbox must not silently get an ordinary one.
 */
export function runtimeHandler(pod: Pod, classes: RuntimeClasses): string | undefined {
  const { runtimeClassName } = pod.spec;
  if (runtimeClassName && !classes.handlers.has(runtimeClassName))
    throw new StateletError('FailedPrecondition', unknownClass(runtimeClassName, classes));
  return knownRuntimeHandler(pod, classes);
}

/** The same for a pod whose sandbox exists: that its class is gone since then does not matter any more. */
export function knownRuntimeHandler({ spec }: Pod, { handlers }: RuntimeClasses): string | undefined {
  const handler = handlers.get(spec.runtimeClassName ?? '');
  return handler === '' ? undefined : handler;
}

/** The kubelet's words. */
function unknownClass(name: string, { handlers, areOfCluster }: RuntimeClasses): string {
  const problem = `runtimeclass.node.k8s.io "${name}" not found`;
  if (areOfCluster) return problem;
  const known = [...handlers.keys()].join(', ') || 'none';
  return `${problem}: this node knows ${known}; leave spec.runtimeClassName out`;
}
