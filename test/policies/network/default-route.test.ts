import { expect, test } from '@jest/globals';
import { defaultInterfacesV4, defaultInterfacesV6 } from '../../../src/policies/network/default-route.ts';

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
