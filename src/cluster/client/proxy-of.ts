/** Which proxy leads to a server: that of the kubeconfig, else that of the environment, by the rules of Go's net/http. */
import { BlockList, isIP } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined: the server is reached without a proxy. */
export function proxyOf(server: URL, configured: string | undefined, env: Environment): string | undefined {
  if (configured !== undefined && configured !== '') return configured;
  // A variable that is empty counts as one that is not set.
  const read = (name: string) =>
    [env[name], env[name.toLowerCase()]].find((value) => value !== undefined && value !== '');
  const proxy = read(server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (proxy === undefined || isLoopback(hostOf(server)) || isExcluded(server, read('NO_PROXY') ?? ''))
    return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** The host of the URL: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/u, '$1');
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/u.test(host);
}

/** `NO_PROXY`: `*`, or names (with their subdomains), `.names` (only those), addresses and networks, each with a port if wanted. */
function isExcluded(server: URL, noProxy: string): boolean {
  const rules = noProxy.split(',').map((rule) => rule.trim().toLowerCase());
  return rules.some((rule) => rule !== '' && excludes(rule, hostOf(server).toLowerCase(), portOf(server)));
}

function excludes(rule: string, host: string, port: number): boolean {
  if (rule === '*') return true;
  if (rule.includes('/')) return isIP(host) !== 0 && isInNetwork(rule, host);
  const [, bracketed, plain = rule, rulePort] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/u.exec(rule) ?? [];
  if (rulePort !== undefined && Number(rulePort) !== port) return false;
  const name = (bracketed ?? plain).replace(/^\*(?=\.)/u, '');
  if (name.startsWith('.')) return host.endsWith(name);
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function isInNetwork(rule: string, host: string): boolean {
  const [network = '', bits = ''] = rule.split('/');
  const family = isIP(network);
  if (family === 0 || family !== isIP(host) || !/^\d+$/u.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}
