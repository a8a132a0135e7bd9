/** The rules of the API server's validation about a pod's own DNS configuration. */
import { DNS_NAMESERVERS_MAX, DNS_SEARCH_LIST_MAX_LENGTH, DNS_SEARCH_PATHS_MAX } from './pod-dns.ts';
import type { SpecProblem } from '../security/security-rules.ts';

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
