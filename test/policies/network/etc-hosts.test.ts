import { describe, expect, test } from '@jest/globals';
import { etcHosts, mountsEtcHosts } from '../../../src/policies/network/etc-hosts.ts';
import type { Pod, PodSpec } from '../../../src/types/kubernetes.ts';

const CONTAINER = { name: 'main' };

function pod(spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u' },
    spec: { containers: [CONTAINER], ...spec },
  };
}

const FACTS = { podIPs: ['10.1.0.5', 'fd00::5'], hostname: 'web', clusterDomain: 'cluster.local' };
const LOCAL = [
  '# Kubernetes-managed hosts file.',
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

test('every address of the pod has its host name', () => {
  expect(etcHosts(pod(), FACTS).split('\n')).toEqual([...LOCAL, '10.1.0.5\tweb', 'fd00::5\tweb', '']);
});

describe('a pod with a subdomain', () => {
  const withSubdomain = pod({ subdomain: 'front' });

  test('has its full name first', () => {
    expect(etcHosts(withSubdomain, FACTS)).toContain(
      '\n10.1.0.5\tweb.front.shop.svc.cluster.local\tweb\nfd00::5\tweb.front.shop.svc.cluster.local\tweb\n',
    );
  });

  test('may have it as its host name (setHostnameAsFQDN)', () => {
    const hostname = 'web.front.shop.svc.cluster.local';
    expect(etcHosts(withSubdomain, { ...FACTS, hostname })).toBe(etcHosts(withSubdomain, FACTS));
  });

  test('has a name without the cluster domain if there is none', () => {
    expect(etcHosts(withSubdomain, { ...FACTS, clusterDomain: '' })).toContain(
      '10.1.0.5\tweb.front.shop.svc\tweb\n',
    );
  });
});

test('hostnameOverride has no domain, even with a subdomain', () => {
  const overridden = pod({ subdomain: 'front', hostnameOverride: 'www.example.com' });
  expect(etcHosts(overridden, { ...FACTS, hostname: 'www.example.com' }).split('\n')).toEqual([
    ...LOCAL,
    '10.1.0.5\twww.example.com',
    'fd00::5\twww.example.com',
    '',
  ]);
});

test('host aliases come last, one line for each', () => {
  const hostAliases = [{ ip: '10.9.9.9', hostnames: ['db', 'db.example.com'] }, { ip: '10.9.9.8' }];
  expect(etcHosts(pod({ hostAliases }), FACTS).split('\n').slice(-6)).toEqual([
    'fd00::5\tweb',
    '',
    '# Entries added by HostAliases.',
    '10.9.9.9\tdb\tdb.example.com',
    '10.9.9.8',
    '',
  ]);
});

test("on the node's network the file is the node's own, with host aliases appended", () => {
  const hostAliases = [{ ip: '10.9.9.9', hostnames: ['db'] }];
  expect(etcHosts(pod({ hostNetwork: true, hostAliases }), { ...FACTS, nodeHosts: '10.0.0.1 node\n' })).toBe(
    '# Kubernetes-managed hosts file (host network).\n10.0.0.1 node\n\n# Entries added by HostAliases.\n10.9.9.9\tdb\n',
  );
});

describe('the file is mounted', () => {
  test('once the pod has an address', () => {
    expect(mountsEtcHosts(pod(), CONTAINER, ['10.1.0.5'])).toBe(true);
    expect(mountsEtcHosts(pod(), CONTAINER, [])).toBe(false);
  });

  test("always on the node's network", () => {
    expect(mountsEtcHosts(pod({ hostNetwork: true }), CONTAINER, [])).toBe(true);
  });

  test('not if the container mounts something there itself', () => {
    const container = { ...CONTAINER, volumeMounts: [{ name: 'own', mountPath: '/etc/hosts' }] };
    expect(mountsEtcHosts(pod(), container, ['10.1.0.5'])).toBe(false);
  });
});
