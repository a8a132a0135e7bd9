/**
 * A pod's resolver configuration: by its DNS policy, with its own dnsConfig added, cut to the limits of resolvers. And what is read for it: the
 * node's `resolv.conf`, and the rules for `dnsConfig`.
 */
import type { DNSConfig } from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import type { Pod, PodSpec } from '../../../types/kubernetes.ts';
import { podText } from '../pod/pod-kinds.ts';
import type { SpecProblem } from '../security/security-rules.ts';

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
const DNS_NAMESERVERS_MAX = 3;
const DNS_SEARCH_PATHS_MAX = 32;
const DNS_SEARCH_LIST_MAX_LENGTH = 2048;
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

/**
 * Reads a `resolv.conf` as the kubelet does: all name servers count, and the last line each of `search` and `options`. Other
 * lines are ignored. Throws a StateletError of kind InvalidArgument that names the line.
 */
export function parseResolvConf(text: string): DNSConfig {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver') {
      if (values[0] === undefined) throw noServer(index + 1);
      servers.push(values[0]);
    } else if (keyword === 'search') {
      searches = values.map(withoutLastDot);
    } else if (keyword === 'options') {
      options = values;
    }
  }
  return { servers, searches, options };
}

/** A domain and the same domain with a dot at its end count as one. The root, `.`, is kept. */
function withoutLastDot(domain: string): string {
  return domain === '.' ? domain : domain.replace(/\.$/, '');
}

function noServer(line: number): StateletError {
  return new StateletError('InvalidArgument', `line ${line}: nameserver has no address behind it`);
}

// The rules of the API server's validation about a pod's own DNS configuration.

/** Labels may begin with an underscore, as those of services (`_tcp`) do. */
const DOMAIN = /^(?=.{1,253}$)[_a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:\.[_a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/;

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

const IPV6 = /^(?=.*:.*:)[0-9a-f:]+(?::\d+\.\d+\.\d+\.\d+)?$/i;

/** `dnsConfig`: the parsed field of a pod's spec. It may break the schema: such parts are not judged here. */
export function dnsConfigProblems(dnsConfig: unknown): readonly SpecProblem[] {
  if (typeof dnsConfig !== 'object' || dnsConfig === null) return [];
  const { nameservers, searches, options } = dnsConfig as Readonly<Record<string, unknown>>;
  return [
    ...nameserverProblems('spec.dnsConfig.nameservers', texts(nameservers)),
    ...searchProblems('spec.dnsConfig.searches', texts(searches)),
    ...optionProblems('spec.dnsConfig.options', Array.isArray(options) ? options : []),
  ];
}

function* nameserverProblems(path: string, servers: readonly string[]): Iterable<SpecProblem> {
  if (servers.length > DNS_NAMESERVERS_MAX)
    yield { path, message: `must have at most ${DNS_NAMESERVERS_MAX} items` };
  for (const [index, server] of servers.entries()) {
    if (!IPV4.test(server) && !IPV6.test(server))
      yield { path: `${path}[${index}]`, message: `must be an IP address (got "${server}")` };
  }
}

function* searchProblems(path: string, searches: readonly string[]): Iterable<SpecProblem> {
  if (searches.length > DNS_SEARCH_PATHS_MAX)
    yield { path, message: `must have at most ${DNS_SEARCH_PATHS_MAX} items` };
  if (searches.join(' ').length > DNS_SEARCH_LIST_MAX_LENGTH)
    yield { path, message: `must have at most ${DNS_SEARCH_LIST_MAX_LENGTH} characters in all` };
  for (const [index, search] of searches.entries()) {
    if (search !== '.' && !DOMAIN.test(search.replace(/\.$/, '')))
      yield { path: `${path}[${index}]`, message: `must be a DNS domain (got "${search}")` };
  }
}

function* optionProblems(path: string, options: readonly unknown[]): Iterable<SpecProblem> {
  for (const [index, option] of options.entries()) {
    if (!(option as { name?: unknown } | null)?.name)
      yield { path: `${path}[${index}].name`, message: 'is required' };
  }
}

function texts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : [];
}
