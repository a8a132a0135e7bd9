import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  defaultRouteAddresses,
  dnsAddresses,
  localAddresses,
  reportedNodeIPs,
} from '../../../../src/agent/runtime/node/own-addresses.ts';

const ip = (address: string): NetworkInterfaceInfo => {
  const common = { address, netmask: '', mac: '', internal: false, cidr: null };
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' };
};
const INTERFACES = {
  eth0: [ip('192.0.2.7')],
  eth1: [ip('169.254.1.1'), ip('10.0.0.7'), ip('10.0.0.8'), ip('fe80::7'), ip('fd00::7')],
};

describe('the address of the default route', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'statelet-own-addresses-'));
    mkdirSync(join(root, 'proc/net'), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('is the first global one of its interface, in each family', async () => {
    const zeros = '0'.repeat(32);
    writeFileSync(join(root, 'proc/net/route'), 'eth1 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n');
    writeFileSync(
      join(root, 'proc/net/ipv6_route'),
      `${zeros} 00 ${zeros} 00 ${zeros} 00000400 00000001 00000000 00450003 eth1\n`,
    );
    expect(await defaultRouteAddresses(root, INTERFACES)).toEqual({ ipv4: '10.0.0.7', ipv6: 'fd00::7' });
  });

  test('does not exist without such a route', async () => {
    expect(await defaultRouteAddresses(root, INTERFACES)).toEqual({});
  });
});

test('the addresses of the machine are those of all interfaces', () => {
  expect(localAddresses({ lo: [ip('127.0.0.1')], ...INTERFACES })).toEqual([
    '127.0.0.1',
    '192.0.2.7',
    '169.254.1.1',
    '10.0.0.7',
    '10.0.0.8',
    'fe80::7',
    'fd00::7',
  ]);
});

test('DNS knows the machine itself, and no addresses of a name that does not exist', async () => {
  expect(await dnsAddresses('localhost')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^127\.|^::1$/)]),
  );
  expect(await dnsAddresses('no-such-node.invalid')).toEqual([]);
});

describe('the addresses that a node reports, and its pods have', () => {
  const readers = {
    dns: () => Promise.resolve(['203.0.113.9']),
    defaultRoute: () => Promise.resolve({ ipv4: '10.0.0.7' }),
  };

  test('are that of the default route, where DNS and --node-ip give none of this machine', async () => {
    expect(await reportedNodeIPs('node-1', [], readers)).toEqual(['10.0.0.7']);
    expect(await reportedNodeIPs('node-1', ['0.0.0.0'], readers)).toEqual(['10.0.0.7']);
  });

  test('are none, where none is found', async () => {
    const nothing = { dns: () => Promise.resolve([]), defaultRoute: () => Promise.resolve({}) };
    expect(await reportedNodeIPs('node-1', [], nothing)).toEqual([]);
  });
});
