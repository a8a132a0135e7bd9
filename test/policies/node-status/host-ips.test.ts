import { expect, test } from '@jest/globals';
import { hostIPsOf } from '../../../src/policies/node-status/host-ips.ts';

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
