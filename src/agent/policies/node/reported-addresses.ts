/** The addresses of a node: those in its status, those that pods show, and the interfaces of its default routes. */
import type { Node, NodeAddress } from '../../../types/kubernetes.ts';
import {
  type IPAddress,
  isLinkLocal,
  isLoopback,
  isMulticast,
  isUnspecified,
  parseIPAddress,
} from '../formats/ip-address.ts';

/** The annotation by which a cloud controller learns the addresses of `--node-ip`. */
export const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip';

export interface AddressFacts {
  /** `--node-ip`: none, one, or one of each family. 0.0.0.0 and :: only choose the preferred family. */
  readonly nodeIPs: readonly string[];
  readonly hostname: string;
  /** Whether a cloud controller sets the addresses. */
  readonly externalCloudProvider: boolean;
  /** What DNS answers for the node's name. */
  readonly dns: readonly string[];
  /** The machine's address on the interface of its default route; undefined without such a route. */
  readonly defaultRoute: (preferIPv4: boolean) => string | undefined;
  /** Why the address cannot be one of this node, if so. */
  readonly problem: (address: IPAddress) => string | undefined;
}

/** Addresses that could not be found stay as they were, and `problem` says why. */
export interface AddressedNode {
  readonly node: Node;
  readonly problem?: string;
}

export function withAddresses(node: Node, facts: AddressFacts): AddressedNode {
  const given = facts.nodeIPs.map(parseIPAddress).filter((address) => address !== undefined);
  const usable = given.filter((address) => !isUnspecified(address));
  const problem = givenProblem(given, facts);
  if (problem !== undefined) return { node, problem };

  const annotated = withProvidedNodeIP(node, facts.externalCloudProvider ? given : []);
  if (facts.externalCloudProvider) {
    if ((node.status?.addresses ?? []).length > 0) return { node: annotated };
    if (given.length === 0) return { node: withInternalIPs(annotated, [], facts.hostname) };
  }
  if (given.length > 1 && usable.length > 1) {
    return { node: withInternalIPs(annotated, usable.slice(0, 2), facts.hostname) };
  }
  const found = primaryAddress(given[0], facts);
  if (found) return { node: withInternalIPs(annotated, [found], facts.hostname) };
  const reason = 'error: no default routes';
  return { node: annotated, problem: `can't get ip address of node ${node.metadata.name}. ${reason}` };
}

const GIVEN_NAMES = ['nodeIP', 'secondaryNodeIP'];

function givenProblem(given: readonly IPAddress[], { problem }: AddressFacts): string | undefined {
  for (const [index, name] of GIVEN_NAMES.entries()) {
    const address = given[index];
    const wrong = address && !isUnspecified(address) ? problem(address) : undefined;
    if (wrong !== undefined) return `failed to validate ${name}: ${wrong}`;
  }
  return undefined;
}

/** The first of: `--node-ip`, a hostname that is an address, DNS, the default route. */
function primaryAddress(given: IPAddress | undefined, facts: AddressFacts): IPAddress | undefined {
  if (given && !isUnspecified(given)) return given;
  const preferIPv4 = given?.isIPv4 ?? true;
  return (
    parseIPAddress(facts.hostname) ??
    dnsAddress(facts, preferIPv4) ??
    parseIPAddress(facts.defaultRoute(preferIPv4) ?? '')
  );
}

function dnsAddress({ dns, problem }: AddressFacts, preferIPv4: boolean): IPAddress | undefined {
  const own = dns
    .map(parseIPAddress)
    .filter((address) => address !== undefined)
    .filter((address) => problem(address) === undefined);
  return own.find(({ isIPv4 }) => isIPv4 === preferIPv4) ?? own[0];
}

function withInternalIPs(node: Node, internal: readonly IPAddress[], hostname: string): Node {
  const addresses: NodeAddress[] = internal.map(({ text }) => ({ type: 'InternalIP', address: text }));
  addresses.push({ type: 'Hostname', address: hostname });
  return { ...node, status: { ...node.status, addresses } };
}

/** The annotation exists only where there is a `--node-ip` and a cloud controller that reads it. */
function withProvidedNodeIP(node: Node, given: readonly IPAddress[]): Node {
  const { [PROVIDED_NODE_IP]: before, ...others } = node.metadata.annotations ?? {};
  const [first, second] = given;
  if (!first || isUnspecified(first)) {
    return before === undefined ? node : { ...node, metadata: { ...node.metadata, annotations: others } };
  }
  const provided = second && !isUnspecified(second) ? `${first.text},${second.text}` : first.text;
  const annotations = { ...others, [PROVIDED_NODE_IP]: provided };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

/** Why an address cannot be one of this node, in the kubelet's words; `localIPs` are those of the machine's interfaces. */
export function nodeIPProblem(address: IPAddress, localIPs: readonly string[]): string | undefined {
  if (isLoopback(address)) return "nodeIP can't be loopback address";
  if (isMulticast(address)) return "nodeIP can't be a multicast address";
  if (isLinkLocal(address)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(address)) return "nodeIP can't be an all zeros address";
  const isLocal = localIPs.some((ip) => parseIPAddress(ip)?.text === address.text);
  return isLocal ? undefined : `node IP: "${address.text}" not found in the host's network interfaces`;
}

/** The first internal address, else the first external one, and then the first of the other family. */
export function hostIPsOf(addresses: readonly NodeAddress[]): readonly string[] {
  const ofType = (type: string) => addresses.filter((address) => address.type === type);
  const all = [...ofType('InternalIP'), ...ofType('ExternalIP')]
    .map(({ address }) => parseIPAddress(address))
    .filter((address) => address !== undefined);
  const [first] = all;
  const second = all.find(({ isIPv4 }) => isIPv4 !== first?.isIPv4);
  return [first, second].filter((address) => address !== undefined).map(({ text }) => text);
}

const NO_ADDRESS_V4 = '00000000';

const NO_ADDRESS_V6 = '0'.repeat(32);

const UP = 0x0001;

const REJECT = 0x0200;

/** `text`: /proc/net/route. The interfaces are in the order of the file. */
export function defaultInterfacesV4(text: string): readonly string[] {
  return rows(text).flatMap(([name = '', destination, , flags = '', , , , mask]) => {
    const isDefault = destination === NO_ADDRESS_V4 && mask === NO_ADDRESS_V4;
    return isDefault && isUsable(flags) ? [name] : [];
  });
}

/** `text`: /proc/net/ipv6_route. */
export function defaultInterfacesV6(text: string): readonly string[] {
  return rows(text).flatMap((row) => {
    const [destination, prefix] = row;
    const [flags = '', name = ''] = row.slice(8);
    const isDefault = destination === NO_ADDRESS_V6 && prefix === '00';
    return isDefault && isUsable(flags) && name !== 'lo' ? [name] : [];
  });
}

function rows(text: string): readonly (readonly string[])[] {
  return text.split('\n').map((line) => line.trim().split(/\s+/));
}

function isUsable(flags: string): boolean {
  const bits = parseInt(flags, 16);
  return (bits & UP) !== 0 && (bits & REJECT) === 0;
}
