import { describe, expect, test } from '@jest/globals';
import { dnsConfigProblems } from '../../../src/policies/network/dns-rules.ts';

const problems = (dnsConfig: unknown) =>
  dnsConfigProblems(dnsConfig).map(
    ({ path, message }) => `${path.replace('spec.dnsConfig.', '')}: ${message}`,
  );

test('a good dnsConfig has no problems', () => {
  const dnsConfig = {
    nameservers: ['10.0.0.10', 'fd00::10', '::ffff:10.0.0.1'],
    searches: ['shop.svc.cluster.local', '_tcp.example.com', 'example.com.', '.'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  };
  expect(problems(dnsConfig)).toEqual([]);
});

test.each([undefined, null, 'text', { nameservers: 'text', searches: 5, options: {} }])(
  'what breaks the schema (%j) is left to the schema',
  (dnsConfig) => {
    expect(problems(dnsConfig)).toEqual([]);
  },
);

describe('nameservers', () => {
  test('are at most three', () => {
    expect(problems({ nameservers: ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'] })).toEqual([
      'nameservers: must have at most 3 items',
    ]);
  });

  test.each(['dns.example.com', '10.0.0', '10.0.0.256', '10.0.0.1:53', 'fd00:zz::1', ''])(
    '"%s" is no IP address',
    (server) => {
      expect(problems({ nameservers: ['10.0.0.1', server] })).toEqual([
        `nameservers[1]: must be an IP address (got "${server}")`,
      ]);
    },
  );
});

describe('searches', () => {
  test('are at most 32, with at most 2048 characters together', () => {
    const many = Array.from({ length: 33 }, (_, index) => `d${index}`);
    expect(problems({ searches: many })).toEqual(['searches: must have at most 32 items']);
    const long = Array.from({ length: 9 }, (_, index) => `d${index}.${'a.'.repeat(120)}example`);
    expect(problems({ searches: long })).toEqual(['searches: must have at most 2048 characters in all']);
  });

  test.each(['Example.com', 'a..b', '-a.b', 'a b', '', 'a'.repeat(254)])('"%s" is no domain', (search) => {
    expect(problems({ searches: [search] })).toEqual([`searches[0]: must be a DNS domain (got "${search}")`]);
  });
});

test('an option needs a name', () => {
  expect(problems({ options: [{ name: 'ndots' }, { value: '2' }, { name: '' }] })).toEqual([
    'options[1].name: is required',
    'options[2].name: is required',
  ]);
});
