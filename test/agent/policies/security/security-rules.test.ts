import { describe, expect, test } from '@jest/globals';
import { dnsConfigProblems } from '../../../../src/agent/policies/network/pod-dns.ts';
import { securityProblems } from '../../../../src/agent/policies/security/security-rules.ts';

const problems = (spec: unknown) => securityProblems(spec).map(({ path, message }) => `${path}: ${message}`);
const ofContainer = (securityContext: object, spec: object = {}) =>
  problems({ ...spec, containers: [{ name: 'a' }, { name: 'b', securityContext }] });
const CONTEXT = 'spec.containers[1].securityContext';

describe('valid specs', () => {
  test('a plain pod, and a pod with many fields', () => {
    expect(problems({ containers: [{ name: 'a' }] })).toEqual([]);
    const securityContext = {
      privileged: true,
      allowPrivilegeEscalation: true,
      capabilities: { add: ['SYS_ADMIN'] },
      seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' },
      appArmorProfile: { type: 'Localhost', localhostProfile: 'profile' },
      procMount: 'Unmasked',
    };
    expect(ofContainer(securityContext, { hostPID: true, hostNetwork: true, hostIPC: true })).toEqual([
      'spec.containers[1].securityContext.procMount: must not be Unmasked unless spec.hostUsers is false',
    ]);
  });

  test('parts that break the schema are not judged', () => {
    for (const spec of [undefined, 'x', [], { containers: 'x', securityContext: 3 }, { containers: [null] }])
      expect(problems(spec)).toEqual([]);
  });
});

describe('privileges', () => {
  test.each([
    [{ privileged: true }, 'must not be false in a privileged container'],
    [
      { capabilities: { add: ['CAP_SYS_ADMIN'] } },
      'must not be false in a container with the capability SYS_ADMIN',
    ],
    [
      { capabilities: { add: ['SYS_ADMIN'] } },
      'must not be false in a container with the capability SYS_ADMIN',
    ],
  ])('allowPrivilegeEscalation is false, but %j', (context, message) => {
    expect(ofContainer({ ...context, allowPrivilegeEscalation: false })).toEqual([
      `${CONTEXT}.allowPrivilegeEscalation: ${message}`,
    ]);
  });

  test('of init containers are checked too', () => {
    const securityContext = { privileged: true, allowPrivilegeEscalation: false };
    expect(problems({ initContainers: [{ securityContext }], containers: [] })[0]).toMatch(
      /^spec\.initContainers\[0\]\.securityContext\.allowPrivilegeEscalation: /,
    );
  });
});

describe('profiles', () => {
  test.each([
    ['seccompProfile', { type: 'Localhost' }, 'is required where the type is Localhost'],
    [
      'seccompProfile',
      { type: 'Localhost', localhostProfile: '' },
      'is required where the type is Localhost',
    ],
    ['seccompProfile', { type: 'Localhost', localhostProfile: '/etc/p' }, 'must be a path below'],
    ['seccompProfile', { type: 'Localhost', localhostProfile: 'a/../../p' }, 'must be a path below'],
    ['seccompProfile', { type: 'Unconfined', localhostProfile: 'p' }, 'must not be set unless'],
    ['appArmorProfile', { type: 'Localhost' }, 'is required where the type is Localhost'],
    [
      'appArmorProfile',
      { type: 'Localhost', localhostProfile: ' p' },
      'must not begin or end with white space',
    ],
    ['appArmorProfile', { type: 'RuntimeDefault', localhostProfile: 'p' }, 'must not be set unless'],
  ])('%s %j', (field, profile, message) => {
    const [found, ...more] = ofContainer({ [field]: profile });
    expect(found).toContain(`${CONTEXT}.${field}.localhostProfile: ${message}`);
    expect(more).toEqual([]);
    expect(problems({ securityContext: { [field]: profile } })[0]).toContain(
      `spec.securityContext.${field}.localhostProfile: ${message}`,
    );
  });
});

describe('namespaces and names', () => {
  test.each([
    [{ shareProcessNamespace: true, hostPID: true }, ['spec.shareProcessNamespace']],
    [{ hostUsers: false }, []],
    [
      { hostUsers: false, hostNetwork: true, hostIPC: true, hostPID: true },
      ['spec.hostNetwork', 'spec.hostPID', 'spec.hostIPC'],
    ],
    [{ hostnameOverride: 'x', hostNetwork: true }, ['spec.hostNetwork']],
    [{ hostnameOverride: 'x', setHostnameAsFQDN: true }, ['spec.setHostnameAsFQDN']],
  ])('%j', (spec, paths) => {
    expect(securityProblems(spec).map(({ path }) => path)).toEqual(paths);
  });
});

describe('sysctls', () => {
  const withSysctls = (names: string[], spec: object = {}) =>
    problems({ ...spec, securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) } });

  test('a sysctl that is set twice, in different spellings', () => {
    expect(withSysctls(['net.ipv4.tcp_rmem', 'kernel.sem', 'net/ipv4/tcp_rmem'])).toEqual([
      'spec.securityContext.sysctls[2].name: "net.ipv4.tcp_rmem" is set twice',
    ]);
  });

  test('a sysctl that would be set for the node', () => {
    const message = (field: string) =>
      `spec.securityContext.sysctls[0].name: must not be set where spec.${field} is true: it would be the node's`;
    expect(withSysctls(['net.core.somaxconn'], { hostNetwork: true })).toEqual([message('hostNetwork')]);
    expect(withSysctls(['kernel.sem'], { hostIPC: true })).toEqual([message('hostIPC')]);
    expect(withSysctls(['kernel.sem'], { hostNetwork: true })).toEqual([]);
  });
});

describe('options of Windows', () => {
  const windowsOptions = { runAsUserName: 'x' };

  test('are ignored, except for a pod whose os is linux', () => {
    expect(ofContainer({ windowsOptions })).toEqual([]);
    expect(ofContainer({ windowsOptions }, { os: { name: 'linux' } })).toEqual([
      `${CONTEXT}.windowsOptions: must not be set where spec.os.name is linux`,
    ]);
  });

  test('a host process of Windows is refused', () => {
    expect(problems({ securityContext: { windowsOptions: { hostProcess: true } } })).toEqual([
      'spec.securityContext.windowsOptions.hostProcess: only nodes that run Windows have host processes',
    ]);
  });
});

describe('dnsConfig', () => {
  const paths = (dnsConfig: unknown) =>
    dnsConfigProblems(dnsConfig).map(({ path }) => path.replace('spec.dnsConfig.', ''));

  test('a valid one', () => {
    expect(
      paths({
        nameservers: ['1.2.3.4', '::1', 'fd00::a:1'],
        searches: ['my.org', 'my.org.', '.', '_tcp.my.org'],
        options: [{ name: 'ndots', value: '2' }],
      }),
    ).toEqual([]);
    for (const odd of [undefined, null, 'x', {}, { nameservers: 'x', searches: [1] }])
      expect(paths(odd)).toEqual([]);
  });

  test.each([
    [{ nameservers: ['1.2.3'] }, 'nameservers[0]'],
    [{ nameservers: ['1.2.3.4', 'dns.org'] }, 'nameservers[1]'],
    [{ nameservers: ['1.2.3.256'] }, 'nameservers[0]'],
    [{ nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] }, 'nameservers'],
    [{ searches: ['my org'] }, 'searches[0]'],
    [{ searches: Array.from({ length: 33 }, () => 'a') }, 'searches'],
    [{ searches: Array.from({ length: 10 }, () => `${'a'.repeat(60)}.`.repeat(4) + 'a') }, 'searches'],
    [{ options: [{ value: '1' }] }, 'options[0].name'],
  ])('%#: %j', (dnsConfig, path) => {
    expect(paths(dnsConfig)).toEqual([path]);
  });
});
