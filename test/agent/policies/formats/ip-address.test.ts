import { expect, test } from '@jest/globals';
import { isGlobal, parseIPAddress } from '../../../../src/agent/policies/formats/ip-address.ts';

test.each([
  ['10.1.1.1', '10.1.1.1'],
  ['010.001.1.1', '10.1.1.1'],
  ['FD00:0:0:0:0:0:0:1', 'fd00::1'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['::ffff:10.1.1.1', '10.1.1.1'],
  ['::ffff:a01:101', '10.1.1.1'],
  ['::', '::'],
])('%s is the address %s', (text, spelled) => {
  const address = parseIPAddress(text);
  expect(address).toEqual({ text: spelled, isIPv4: !spelled.includes(':') });
});

test.each([
  '',
  'node-1',
  '10.1.1',
  '10.1.1.256',
  '10.1.1.1.1',
  'fe80::1%eth0',
  '[::1]',
  '::1]/x[',
  '1:2:3',
  '::1/64',
  ' ::1',
])('"%s" is none', (text) => {
  expect(parseIPAddress(text)).toBeUndefined();
});

test.each([
  ['10.1.1.1', true],
  ['2001:db8::1', true],
  ['127.1.2.3', false],
  ['::1', false],
  ['0.0.0.0', false],
  ['224.0.0.1', false],
  ['239.255.255.255', false],
  ['240.0.0.1', true],
  ['ff02::1', false],
  ['169.254.1.1', false],
  ['febf::1', false],
  ['fec0::1', true],
])('%s is reached from other machines: %s', (text, global) => {
  expect(isGlobal(parseIPAddress(text)!)).toBe(global);
});
