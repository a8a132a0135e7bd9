import { describe, expect, test } from '@jest/globals';
import { parseIPAddress } from '../../../src/policies/formats/ip-address.ts';
import {
  type AddressFacts,
  nodeIPProblem,
  PROVIDED_NODE_IP,
  withAddresses,
} from '../../../src/policies/node-status/reported-addresses.ts';
import { statusFacts } from '../../support/node-status-facts.ts';

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

  test('else there is none, and it is said', () => {
    expect(addressOf({})).toBe("can't get ip address of node node-1. error: no default routes");
  });
});

test('a --node-ip that is not of this machine is refused', () => {
  const problem = () => 'node IP: "10.0.0.1" not found';
  expect(addressOf({ nodeIPs: ['10.0.0.1'], problem })).toMatch(/^failed to validate nodeIP: .*not found$/);
});

describe('with a cloud controller', () => {
  const cloud = { ...statusFacts().addresses, externalCloudProvider: true };

  test('its addresses stay, and it is told --node-ip', () => {
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
