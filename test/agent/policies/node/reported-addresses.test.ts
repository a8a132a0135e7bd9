import { describe, expect, test } from '@jest/globals';
import { parseIPAddress } from '../../../../src/agent/policies/formats/ip-address.ts';
import {
  type AddressFacts,
  defaultInterfacesV4,
  defaultInterfacesV6,
  hostIPsOf,
  nodeIPProblem,
  PROVIDED_NODE_IP,
  withAddresses,
} from '../../../../src/agent/policies/node/reported-addresses.ts';
import { statusFacts } from '../../../support/node-status-facts.ts';

const NODE = { metadata: { name: 'node-1' } };

const addressOf = (own: Partial<AddressFacts>) => {
  const { node, problem } = withAddresses(NODE, { ...statusFacts().addresses, nodeIPs: [], ...own });
  return problem ?? node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
};

describe('the internal address is the first that is found of', () => {
  const defaultRoute = () => '10.0.0.9';
  test('--node-ip', () => {
    expect(addressOf({ nodeIPs: ['10.0.0.1'], hostname: '10.0.0.2', defaultRoute })).toBe('10.0.0.1');
  });

  test('a hostname that is an address', () => {
    expect(addressOf({ hostname: '10.0.0.2', dns: ['10.0.0.3'], defaultRoute })).toBe('10.0.0.2');
  });

  test('DNS of the node, in the family of --node-ip 0.0.0.0 or ::', () => {
    const dns = ['10.0.0.3', 'fd00::3'];
    expect(addressOf({ dns, defaultRoute })).toBe('10.0.0.3');
    expect(addressOf({ dns, nodeIPs: ['::'], defaultRoute })).toBe('fd00::3');
  });

  test('the default route, where DNS names only addresses of other machines', () => {
    const problem = () => 'not an address of this machine';
    expect(addressOf({ dns: ['10.0.0.3'], problem, defaultRoute })).toBe('10.0.0.9');
  });

  test('otherwise there is none, which is a problem', () => {
    expect(addressOf({})).toBe("can't get ip address of node node-1. error: no default routes");
  });
});

test('a --node-ip that is not of this machine is refused', () => {
  const problem = () => 'node IP: "10.0.0.1" not found';
  expect(addressOf({ nodeIPs: ['10.0.0.1'], problem })).toMatch(/^failed to validate nodeIP: .*not found$/);
});

describe('with a cloud controller', () => {
  const cloud = { ...statusFacts().addresses, externalCloudProvider: true };

  test('its addresses stay, and the annotation has --node-ip', () => {
    const addresses = [{ type: 'ExternalIP', address: '192.0.2.1' }];
    const { node } = withAddresses({ ...NODE, status: { addresses } }, cloud);
    expect(node.status?.addresses).toEqual(addresses);
    expect(node.metadata.annotations).toEqual({ [PROVIDED_NODE_IP]: '10.0.0.1' });
  });

  test('a node without --node-ip has only its hostname until then', () => {
    const { node } = withAddresses(NODE, { ...cloud, nodeIPs: [], dns: ['10.0.0.3'] });
    expect(node.status?.addresses).toEqual([{ type: 'Hostname', address: 'node-1' }]);
  });
});

test.each([
  ['10.0.0.1', undefined],
  ['fd00::1', undefined],
  ['10.0.0.2', 'node IP: "10.0.0.2" not found in the host\'s network interfaces'],
  ['127.0.0.1', "nodeIP can't be loopback address"],
  ['ff02::1', "nodeIP can't be a multicast address"],
  ['fe80::1', "nodeIP can't be a link-local unicast address"],
  ['0.0.0.0', "nodeIP can't be an all zeros address"],
])('of a machine with 10.0.0.1 and fd00::1, %s: %s', (text, problem) => {
  expect(nodeIPProblem(parseIPAddress(text)!, ['10.0.0.1', 'fd00:0::1'])).toBe(problem);
});

const internal = (address: string) => ({ type: 'InternalIP', address });

const external = (address: string) => ({ type: 'ExternalIP', address });

test.each([
  [[{ type: 'Hostname', address: 'node-1' }, internal('10.0.0.1')], ['10.0.0.1']],
  [[external('192.0.2.1'), internal('10.0.0.1'), internal('10.0.0.2')], ['10.0.0.1']],
  [[external('192.0.2.1')], ['192.0.2.1']],
  [
    [internal('10.0.0.1'), external('2001:db8::1')],
    ['10.0.0.1', '2001:db8::1'],
  ],
  [
    [internal('fd00::1'), internal('10.0.0.1'), internal('10.0.0.2')],
    ['fd00::1', '10.0.0.1'],
  ],
  [[], []],
])('of the addresses %j pods have %j', (addresses, hostIPs) => {
  expect(hostIPsOf(addresses)).toEqual(hostIPs);
});

const V4 = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
eth1\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0
eth2\t00000000\t0200000A\t0003\t0\t0\t200\t00000000\t0\t0\t0
eth3\t00000000\t0300000A\t0203\t0\t0\t200\t00000000\t0\t0\t0
`;

const ZEROS = '0'.repeat(32);

const V6 = `${ZEROS} 00 ${ZEROS} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00450003     eth1
fd000000000000000000000000000000 40 ${ZEROS} 00 ${ZEROS} 00000100 00000001 00000000 00000001     eth0
${ZEROS} 00 ${ZEROS} 00 ${ZEROS} ffffffff 00000001 00000001 00200200       lo
`;

test('the interfaces of the default routes that can be used, in the order of the file', () => {
  expect(defaultInterfacesV4(V4)).toEqual(['eth1', 'eth2']);
  expect(defaultInterfacesV6(V6)).toEqual(['eth1']);
});

test('a machine without routes has none', () => {
  expect(defaultInterfacesV4('')).toEqual([]);
  expect(defaultInterfacesV6('')).toEqual([]);
});
