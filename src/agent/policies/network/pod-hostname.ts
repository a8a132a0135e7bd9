/** The host name and domain of a pod, and its `/etc/hosts`. */
import { invalid } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';

/** The longest label of a DNS name. */
const HOSTNAME_MAX_LENGTH = 63;
/** The longest host name that Linux stores (`nodename` of `struct utsname`). */
const NODENAME_MAX_LENGTH = 64;

/** The domain of a pod that has a subdomain; empty without one. */
export function podDomain({ metadata, spec }: Pod, clusterDomain: string): string {
  if (!spec.subdomain || spec.hostnameOverride) return '';
  return [spec.subdomain, metadata.namespace, 'svc', clusterDomain].filter((part) => part !== '').join('.');
}

/**
 * The host name of a pod with its own network: `hostnameOverride`, else `hostname`, else the pod's name, shortened to one
 * label of a DNS name. With `setHostnameAsFQDN` it includes the domain. Throws a StateletError of kind InvalidArgument, with the
 * kubelet's message, if that is longer than Linux allows.
 */
export function podHostname(pod: Pod, clusterDomain: string): string {
  const { hostnameOverride, hostname, setHostnameAsFQDN } = pod.spec;
  // In the API, an empty text is the same as no text.
  const name = shortened([hostnameOverride, hostname].find(Boolean) ?? pod.metadata.name);
  const domain = podDomain(pod, clusterDomain);
  if (domain === '' || setHostnameAsFQDN !== true) return name;
  const fqdn = `${name}.${domain}`;
  if (fqdn.length <= NODENAME_MAX_LENGTH) return fqdn;
  throw invalid(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ` +
      `(${NODENAME_MAX_LENGTH} characters is the max, ${fqdn.length} characters requested)`,
  );
}

function shortened(name: string): string {
  return name.slice(0, HOSTNAME_MAX_LENGTH).replace(/(?<![-.])[-.]+$/, '');
}

export const ETC_HOSTS_PATH = '/etc/hosts';

const HEADER = '# Kubernetes-managed hosts file.\n';

const HOST_NETWORK_HEADER = '# Kubernetes-managed hosts file (host network).\n';

const ALIASES_HEADER = '\n# Entries added by HostAliases.\n';

/** The names that every host has. */
const LOCAL_ENTRIES: readonly (readonly string[])[] = [
  ['127.0.0.1', 'localhost'],
  ['::1', 'localhost ip6-localhost ip6-loopback'],
  ['fe00::0', 'ip6-localnet'],
  ['fe00::0', 'ip6-mcastprefix'],
  ['fe00::1', 'ip6-allnodes'],
  ['fe00::2', 'ip6-allrouters'],
];

export interface HostsFacts {
  /** The node's own hosts file, for a pod that uses the node's network. */
  readonly nodeHosts?: string;
  readonly podIPs: readonly string[];
  /** The pod's host name, with or without its domain. */
  readonly hostname: string;
  readonly clusterDomain: string;
}

/** Whether the container gets this file: not if it mounts something there itself, and not while the pod has no address. */
export function mountsEtcHosts(
  { spec }: Pod,
  { volumeMounts = [] }: Container | EphemeralContainer,
  podIPs: readonly string[],
): boolean {
  if (volumeMounts.some(({ mountPath }) => mountPath === ETC_HOSTS_PATH)) return false;
  return spec.hostNetwork === true || podIPs.length > 0;
}

export function etcHosts(pod: Pod, facts: HostsFacts): string {
  const { nodeHosts } = facts;
  const start = nodeHosts === undefined ? managedHosts(pod, facts) : HOST_NETWORK_HEADER + nodeHosts;
  return start + aliases(pod);
}

function managedHosts(pod: Pod, { podIPs, hostname, clusterDomain }: HostsFacts): string {
  const domain = podDomain(pod, clusterDomain);
  const suffix = `.${domain}`;
  const name = domain !== '' && hostname.endsWith(suffix) ? hostname.slice(0, -suffix.length) : hostname;
  const names = domain === '' ? [name] : [`${name}${suffix}`, name];
  return HEADER + lines(LOCAL_ENTRIES) + lines(podIPs.map((ip) => [ip, ...names]));
}

function aliases({ spec }: Pod): string {
  const entries = spec.hostAliases ?? [];
  if (entries.length === 0) return '';
  return ALIASES_HEADER + lines(entries.map(({ ip, hostnames = [] }) => [ip, ...hostnames]));
}

function lines(entries: readonly (readonly string[])[]): string {
  return entries.map((entry) => `${entry.join('\t')}\n`).join('');
}
