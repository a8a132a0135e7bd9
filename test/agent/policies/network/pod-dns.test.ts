import { describe, expect, test } from '@jest/globals';
import {
  dnsConfigProblems,
  type NodeDNS,
  parseResolvConf,
  podDNS,
} from '../../../../src/agent/policies/network/pod-dns.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const OF_NODE = { servers: ['192.0.2.1'], searches: ['example.com'], options: ['rotate'] };
const CLUSTER: NodeDNS = { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local', resolvConf: OF_NODE };
const STANDALONE: NodeDNS = { clusterDNS: [], clusterDomain: '', resolvConf: OF_NODE };
const OF_CLUSTER = {
  servers: ['10.96.0.10'],
  searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com'],
  options: ['ndots:5'],
};

function dnsOf(spec: Partial<Pod['spec']>, node = CLUSTER) {
  const pod = testPod();
  return podDNS({ ...pod, spec: { ...pod.spec, ...spec } }, node);
}
const reasons = ({ warnings }: ReturnType<typeof podDNS>) => warnings.map(({ reason }) => reason);

describe('the policy', () => {
  test.each([
    ['ClusterFirst', false, OF_CLUSTER],
    [undefined, false, OF_CLUSTER],
    ['ClusterFirst', true, OF_NODE],
    ['ClusterFirstWithHostNet', true, OF_CLUSTER],
    ['ClusterFirstWithHostNet', false, OF_CLUSTER],
    ['Default', false, OF_NODE],
    ['Default', true, OF_NODE],
    ['None', false, { servers: [], searches: [], options: [] }],
  ])('%s, on the network of the node: %s', (dnsPolicy, hostNetwork, wanted) => {
    expect(dnsOf({ dnsPolicy, hostNetwork })).toEqual({ config: wanted, warnings: [] });
  });

  test("ClusterFirst without a cluster DNS falls back to the node's DNS, with a warning", () => {
    const found = dnsOf({ dnsPolicy: 'ClusterFirst' }, STANDALONE);
    expect(found.config).toEqual(OF_NODE);
    expect(found.warnings).toEqual([
      {
        reason: 'MissingClusterDNS',
        message:
          'pod: "web_default(uid-of-web)". kubelet does not have ClusterDNS IP configured and cannot create Pod ' +
          'using "ClusterFirst" policy. Falling back to "Default" policy.',
      },
    ]);
  });

  test("on the node's network there is no such warning", () => {
    expect(dnsOf({ dnsPolicy: 'ClusterFirst', hostNetwork: true }, STANDALONE).warnings).toEqual([]);
  });

  test('without a cluster domain only the search domains of the node count', () => {
    expect(dnsOf({}, { ...CLUSTER, clusterDomain: '' }).config.searches).toEqual(['example.com']);
  });

  test('a search domain of both node and cluster is listed once', () => {
    const resolvConf = { ...OF_NODE, searches: ['cluster.local', 'example.com'] };
    expect(dnsOf({}, { ...CLUSTER, resolvConf }).config.searches).toEqual(OF_CLUSTER.searches);
  });

  test("if pods must not use the node's configuration, their resolver asks localhost", () => {
    const node = { ...CLUSTER, resolvConf: undefined };
    const nothing = { servers: ['127.0.0.1'], searches: ['.'], options: [] };
    expect(dnsOf({ dnsPolicy: 'Default' }, node).config).toEqual(nothing);
    expect(dnsOf({ dnsPolicy: 'ClusterFirst' }, node).config.searches).not.toContain('example.com');
  });
});

describe("the pod's own configuration", () => {
  test('is added to that of its policy, each entry once', () => {
    const dnsConfig = { nameservers: ['10.96.0.10', '1.1.1.1'], searches: ['my.org', 'example.com'] };
    expect(dnsOf({ dnsConfig }).config).toEqual({
      servers: ['10.96.0.10', '1.1.1.1'],
      searches: [...OF_CLUSTER.searches, 'my.org'],
      options: ['ndots:5'],
    });
  });

  test('its options replace options of the same name', () => {
    const options = [{ name: 'ndots', value: '2' }, { name: 'edns0' }];
    expect(dnsOf({ dnsConfig: { options } }).config.options).toEqual(['ndots:2', 'edns0']);
  });

  test('is the whole configuration with the policy None', () => {
    const dnsConfig = { nameservers: ['1.1.1.1'], options: [{ name: 'edns0' }] };
    expect(dnsOf({ dnsPolicy: 'None', dnsConfig }).config).toEqual({
      servers: ['1.1.1.1'],
      searches: [],
      options: ['edns0'],
    });
  });
});

describe('limits', () => {
  const none = (dnsConfig: object) => dnsOf({ dnsPolicy: 'None', dnsConfig });

  test('three name servers', () => {
    const found = none({ nameservers: ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'] });
    expect(found.config.servers).toEqual(['1.1.1.1', '2.2.2.2', '3.3.3.3']);
    expect(found.warnings).toEqual([
      {
        reason: 'DNSConfigForming',
        message:
          'Nameserver limits were exceeded, some nameservers have been omitted, ' +
          'the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3',
      },
    ]);
  });

  test('32 search paths', () => {
    const searches = Array.from({ length: 33 }, (_, index) => `d${index}.org`);
    const found = none({ searches });
    expect(found.config.searches).toEqual(searches.slice(0, 32));
    expect(found.warnings[0]?.message).toMatch(
      /^Search Line limits were exceeded, some search paths .* d31\.org$/,
    );
    expect(reasons(none({ searches: searches.slice(0, 32) }))).toEqual([]);
  });

  test('2048 characters of search paths, spaces included', () => {
    const nine = Array.from({ length: 9 }, (_, index) => String(index).repeat(204));
    const fitting = [...nine, 'x'.repeat(203)];
    expect(none({ searches: fitting })).toMatchObject({ config: { searches: fitting }, warnings: [] });
    const tooLong = none({ searches: [...nine, 'x'.repeat(204), 'y'] });
    expect(tooLong.config.searches).toEqual(nine);
    expect(reasons(tooLong)).toEqual(['DNSConfigForming']);
  });

  test('253 characters of one search path; other paths are kept', () => {
    const found = none({ searches: ['a.org', 'x'.repeat(254), 'b.org'] });
    expect(found.config.searches).toEqual(['a.org', 'b.org']);
    expect(reasons(found)).toEqual(['DNSConfigForming']);
  });
});

describe('resolv.conf', () => {
  test.each<[string, string, object]>([
    ['nothing', '', {}],
    ['comments', '# nameserver 1.1.1.1\n; search x\n   # options y', {}],
    [
      'name servers, all of them',
      'nameserver 1.1.1.1\nnameserver\tfd00::1 trailing\n',
      { servers: ['1.1.1.1', 'fd00::1'] },
    ],
    ['of searches the last line', 'search a b\nsearch c', { searches: ['c'] }],
    [
      'searches without their last dot, but the root',
      'search a.org. . b.org',
      { searches: ['a.org', '.', 'b.org'] },
    ],
    ['an empty search takes back what was before', 'search a\nsearch', { searches: [] }],
    ['of options the last line', 'options rotate\noptions ndots:5 edns0', { options: ['ndots:5', 'edns0'] }],
    ['white space and line ends of other systems', '  nameserver 1.1.1.1\r\n', { servers: ['1.1.1.1'] }],
    ['what it does not know is passed over', 'domain a\nsortlist b\nnameserverx 2', {}],
  ])('%s', (_, text, wanted) => {
    expect(parseResolvConf(text)).toEqual({ servers: [], searches: [], options: [], ...wanted });
  });

  test('a name server without an address is an error that names its line', () => {
    expect(() => parseResolvConf('# x\nnameserver\n')).toThrow('line 2: nameserver has no address behind it');
  });
});

const problems = (dnsConfig: unknown) =>
  dnsConfigProblems(dnsConfig).map(
    ({ path, message }) => `${path.replace('spec.dnsConfig.', '')}: ${message}`,
  );

test('a good dnsConfig has no problems', () => {
  const dnsConfig = {
    nameservers: ['250.0.0.10', 'fd00::10', '::ffff:10.0.0.1'],
    searches: ['shop.svc.cluster.local', '_tcp.example.com', 'example.com.', 'a', '.'],
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
    expect(problems({ searches: many.slice(1) })).toEqual([]);
    const long = Array.from({ length: 9 }, (_, index) => `d${index}.${'a.'.repeat(120)}example`);
    expect(problems({ searches: long })).toEqual(['searches: must have at most 2048 characters in all']);
    const longest = [...Array<string>(8).fill('a'.repeat(253)), 'a'.repeat(2048 - 8 * 254)];
    expect(problems({ searches: longest })).toEqual([]);
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
