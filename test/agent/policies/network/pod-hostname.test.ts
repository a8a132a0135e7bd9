import { describe, expect, test } from '@jest/globals';
import {
  etcHosts,
  mountsEtcHosts,
  podDomain,
  podHostname,
} from '../../../../src/agent/policies/network/pod-hostname.ts';
import type { Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const podWith = (spec: Partial<Pod['spec']>): Pod => {
  const pod = testPod();
  return { ...pod, spec: { ...pod.spec, ...spec } };
};
const named = (name: string) => testPod({ name });

describe('the host name', () => {
  test('is that of the spec', () => {
    expect(podHostname(podWith({ hostname: 'db-0' }), '')).toBe('db-0');
  });

  test("is the pod's name if the spec has none", () => {
    expect(podHostname(named('web'), '')).toBe('web');
    expect(podHostname(podWith({ hostname: '' }), '')).toBe('web');
  });

  test('is cut to 63 characters', () => {
    expect(podHostname(named('a'.repeat(70)), '')).toBe('a'.repeat(63));
  });

  test('does not end in a dash or a dot after the cut', () => {
    expect(podHostname(named(`${'a'.repeat(60)}-.-rest`), '')).toBe('a'.repeat(60));
  });

  test('is hostnameOverride if there is one, without a domain', () => {
    const pod = podWith({ hostnameOverride: 'other.example.com', hostname: 'db-0', subdomain: 'db' });
    expect([podHostname(pod, 'cluster.local'), podDomain(pod, 'cluster.local')]).toEqual([
      'other.example.com',
      '',
    ]);
  });

  test('is cut as well where it comes from hostnameOverride, as the kubelet does', () => {
    expect(podHostname(podWith({ hostnameOverride: `${'a'.repeat(62)}.b` }), '')).toBe('a'.repeat(62));
  });

  test('includes the domain only with setHostnameAsFQDN', () => {
    const spec = { hostname: 'db-0', subdomain: 'db' };
    expect(podHostname(podWith(spec), 'cluster.local')).toBe('db-0');
    const whole = podWith({ ...spec, setHostnameAsFQDN: true });
    expect(podHostname(whole, 'cluster.local')).toBe('db-0.db.default.svc.cluster.local');
  });

  test("is refused in the kubelet's words if it is too long for Linux with its domain", () => {
    const longest = 'a'.repeat(64 - '.db.default.svc.cluster.local'.length);
    const pod = (hostname: string) => podWith({ hostname, subdomain: 'db', setHostnameAsFQDN: true });
    expect(podHostname(pod(longest), 'cluster.local')).toHaveLength(64);
    expect(() => podHostname(pod(`${longest}a`), 'cluster.local')).toThrow(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${longest}a.db.default.svc.cluster.local is ` +
        'too long (64 characters is the max, 65 characters requested)',
    );
  });
});

describe('the domain', () => {
  test('comes from the subdomain, the namespace and the cluster', () => {
    expect(podDomain(podWith({ subdomain: 'db' }), 'cluster.local')).toBe('db.default.svc.cluster.local');
    expect(podDomain(podWith({ subdomain: 'db' }), '')).toBe('db.default.svc');
  });

  test('is empty without a subdomain', () => {
    expect(podDomain(podWith({}), 'cluster.local')).toBe('');
  });
});

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
