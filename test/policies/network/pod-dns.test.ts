import { describe, expect, test } from '@jest/globals';
import { type NodeDNS, podDNS } from '../../../src/policies/network/pod-dns.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';

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
