/** The addresses of the machine as the node's status needs them: of its interfaces, of its default routes, of its name in DNS. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isGlobal, parseIPAddress } from '../../policies/formats/ip-address.ts';
import {
  defaultInterfacesV4,
  defaultInterfacesV6,
  hostIPsOf,
  nodeIPProblem,
  withAddresses,
} from '../../policies/node/reported-addresses.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

export interface DefaultRouteAddresses {
  readonly ipv4?: string;
  readonly ipv6?: string;
}

/** How the addresses of the machine are found. */
export interface AddressReaders {
  readonly dns: (name: string) => Promise<readonly string[]>;
  readonly defaultRoute: () => Promise<DefaultRouteAddresses>;
}

export const OWN_ADDRESSES: AddressReaders = {
  dns: dnsAddresses,
  defaultRoute: () => defaultRouteAddresses(),
};

/** How long the start waits for DNS. */
const DNS_LIMIT_MS = 2_000;

/**
 * The addresses that a node of this name and with this `--node-ip` reports: its pods have them too. Empty where none is found. Takes some
 * seconds at most.
 */
export async function reportedNodeIPs(
  name: string,
  nodeIPs: readonly string[],
  readers = OWN_ADDRESSES,
): Promise<readonly string[]> {
  const late = delay(DNS_LIMIT_MS, [], { ref: false });
  const [dns, { ipv4, ipv6 }] = await Promise.all([
    Promise.race([readers.dns(name), late]),
    readers.defaultRoute(),
  ]);
  const { node } = withAddresses(
    { metadata: { name } },
    {
      nodeIPs,
      dns,
      hostname: name,
      externalCloudProvider: false,
      defaultRoute: (preferIPv4) => (preferIPv4 ? (ipv4 ?? ipv6) : (ipv6 ?? ipv4)),
      problem: (address) => nodeIPProblem(address, localAddresses()),
    },
  );
  return hostIPsOf(node.status?.addresses ?? []);
}

/** All addresses of the machine's interfaces. */
export function localAddresses(interfaces: Interfaces = networkInterfaces()): readonly string[] {
  return Object.values(interfaces).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
}

/** The first global address of each family on an interface with a default route. `root`: where `/proc` is. */
export async function defaultRouteAddresses(
  root = '/',
  interfaces: Interfaces = networkInterfaces(),
): Promise<DefaultRouteAddresses> {
  const read = (path: string) => readFile(join(root, path), 'utf8').catch(() => '');
  const [v4, v6] = await Promise.all([read('proc/net/route'), read('proc/net/ipv6_route')]);
  const ipv4 = globalAddress(defaultInterfacesV4(v4), 'IPv4', interfaces);
  const ipv6 = globalAddress(defaultInterfacesV6(v6), 'IPv6', interfaces);
  return { ipv4, ipv6 };
}

function globalAddress(
  names: readonly string[],
  family: 'IPv4' | 'IPv6',
  interfaces: Interfaces,
): string | undefined {
  const addresses = names.flatMap((name) => interfaces[name] ?? []);
  return addresses.find((one) => one.family === family && isGlobalText(one.address))?.address;
}

function isGlobalText(text: string): boolean {
  const address = parseIPAddress(text);
  return address !== undefined && isGlobal(address);
}

/** A name that DNS does not know has no addresses. */
export async function dnsAddresses(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true, order: 'verbatim' }).catch(() => []);
  return found.map(({ address }) => address);
}
