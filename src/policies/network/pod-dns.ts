/** A pod's resolver configuration: by its DNS policy, with its own dnsConfig added, cut to the limits of resolvers. */
import type { DNSConfig } from '../../types/cri.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import { podText } from '../pod/pod-kinds.ts';

type PodDNSConfig = NonNullable<PodSpec['dnsConfig']>;

export interface NodeDNS {
  /** The name servers for pods with the policy ClusterFirst. */
  readonly clusterDNS: readonly string[];
  /** Empty: there is none. */
  readonly clusterDomain: string;
  /** The node's own configuration; undefined if pods must not use it (an empty `resolvConf` in the settings). */
  readonly resolvConf: DNSConfig | undefined;
}

/** Reason and message of a Warning event on the pod. */
export interface DNSWarning {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming';
  readonly message: string;
}

export interface PodDNS {
  readonly config: DNSConfig;
  readonly warnings: readonly DNSWarning[];
}

/** Limits of glibc's resolver and of Kubernetes. */
export const DNS_NAMESERVERS_MAX = 3;
export const DNS_SEARCH_PATHS_MAX = 32;
export const DNS_SEARCH_LIST_MAX_LENGTH = 2048;
/** The longest search domain; some resolvers crash on longer ones. */
const SEARCH_PATH_MAX_LENGTH = 253;

const EMPTY: DNSConfig = { servers: [], searches: [], options: [] };
/** Where pods must not use the node's configuration. Without a server, a resolver would ask localhost anyway. */
const WITHOUT_NODE: DNSConfig = { servers: ['127.0.0.1'], searches: ['.'], options: [] };
const NO_CLUSTER_DNS =
  'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
  'Falling back to "Default" policy.';

export function podDNS(pod: Pod, node: NodeDNS): PodDNS {
  const warnings: DNSWarning[] = [];
  const base = baseConfig(pod, node, warnings);
  const config = pod.spec.dnsConfig ? withDNSConfig(base, pod.spec.dnsConfig) : base;
  return { config: withinLimits(config, warnings), warnings };
}

function baseConfig(pod: Pod, node: NodeDNS, warnings: DNSWarning[]): DNSConfig {
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return EMPTY;
  const ofNode = node.resolvConf ?? WITHOUT_NODE;
  // On the node's network ClusterFirst means the node's DNS. For the cluster's DNS there is ClusterFirstWithHostNet.
  if (policy === 'Default' || (policy === 'ClusterFirst' && pod.spec.hostNetwork)) return ofNode;
  if (node.clusterDNS.length > 0) return clusterFirst(pod, node);
  warnings.push({ reason: 'MissingClusterDNS', message: `pod: "${podText(pod)}". ${NO_CLUSTER_DNS}` });
  return ofNode;
}

function clusterFirst({ metadata }: Pod, { clusterDNS, clusterDomain, resolvConf }: NodeDNS): DNSConfig {
  const services = clusterDomain && `svc.${clusterDomain}`;
  const searches = clusterDomain ? [`${metadata.namespace}.${services}`, services, clusterDomain] : [];
  return {
    servers: clusterDNS,
    searches: unique([...searches, ...(resolvConf?.searches ?? [])]),
    options: ['ndots:5'],
  };
}

function withDNSConfig(base: DNSConfig, { nameservers, searches, options }: PodDNSConfig): DNSConfig {
  return {
    servers: unique([...base.servers, ...(nameservers ?? [])]),
    searches: unique([...base.searches, ...(searches ?? [])]),
    options: withOptions(base.options, options ?? []),
  };
}

/** An option of the pod replaces one of the same name. */
function withOptions(base: readonly string[], own: NonNullable<PodDNSConfig['options']>): readonly string[] {
  const options = new Map(base.map((option) => [option.split(':', 1)[0] ?? '', option]));
  for (const { name = '', value } of own) options.set(name, value ? `${name}:${value}` : name);
  return [...options.values()];
}

function withinLimits({ servers, searches, options }: DNSConfig, warnings: DNSWarning[]): DNSConfig {
  const fittingServers = servers.slice(0, DNS_NAMESERVERS_MAX);
  if (fittingServers.length < servers.length) {
    warnings.push(omitted('Nameserver', 'nameservers', 'nameserver', fittingServers));
  }
  const fittingSearches = fittingSearchPaths(searches);
  if (fittingSearches.length < searches.length) {
    warnings.push(omitted('Search Line', 'search paths', 'search', fittingSearches));
  }
  return { servers: fittingServers, searches: fittingSearches, options };
}

/** The first search domains, up to their highest number and total length. Domains that are too long are left out. */
function fittingSearchPaths(searches: readonly string[]): readonly string[] {
  const fitting: string[] = [];
  let length = -1;
  for (const search of searches.slice(0, DNS_SEARCH_PATHS_MAX)) {
    if (search.length > SEARCH_PATH_MAX_LENGTH) continue;
    length += 1 + search.length;
    if (length > DNS_SEARCH_LIST_MAX_LENGTH) break;
    fitting.push(search);
  }
  return fitting;
}

function omitted(what: string, items: string, line: string, applied: readonly string[]): DNSWarning {
  const message =
    `${what} limits were exceeded, some ${items} have been omitted, ` +
    `the applied ${line} line is: ${applied.join(' ')}`;
  return { reason: 'DNSConfigForming', message };
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
