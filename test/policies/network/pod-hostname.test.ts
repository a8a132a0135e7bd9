import { describe, expect, test } from '@jest/globals';
import { podDomain, podHostname } from '../../../src/policies/network/pod-hostname.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';

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
