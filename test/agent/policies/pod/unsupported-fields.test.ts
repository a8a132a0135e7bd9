import { describe, expect, test } from '@jest/globals';
import { embeddedLimits, unsupportedFields } from '../../../../src/agent/policies/pod/unsupported-fields.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const EMBEDDED_LIMITS = embeddedLimits({
  isRoot: true,
  hasVolumes: false,
  hasCgroups: false,
  allocatable: {},
});
const WITHOUT_ROOT = embeddedLimits({ isRoot: false, hasVolumes: false, hasCgroups: false, allocatable: {} });

const withSpec = (spec: Partial<Pod['spec']>): Pod => {
  const pod = testPod();
  return { ...pod, spec: { ...pod.spec, ...spec } };
};

test('a plain pod has no unsupported field', () => {
  const plain = withSpec({ volumes: [], containers: [{ name: 'a', volumeMounts: [] }] });
  expect(unsupportedFields(testPod(), EMBEDDED_LIMITS)).toEqual([]);
  expect(unsupportedFields(plain, EMBEDDED_LIMITS)).toEqual([]);
});

const ASKING = withSpec({
  volumes: [{ name: 'data', emptyDir: {} }],
  initContainers: [{ name: 'init', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  containers: [
    {
      name: 'web',
      volumeDevices: [{ name: 'data', devicePath: '/dev/x' }],
      resources: { limits: { cpu: '1' } },
    },
  ],
});

test("plain processes have neither volumes nor limits: each field is listed by its path, with the container's name", () => {
  expect(unsupportedFields(ASKING, EMBEDDED_LIMITS)).toEqual([
    'spec.volumes',
    'spec.containers[web].resources.limits',
    'spec.containers[web].volumeDevices',
    'spec.initContainers[init].volumeMounts',
  ]);
});

test('local storage of plain processes is limited by eviction', () => {
  const containers = [{ name: 'a', resources: { limits: { 'ephemeral-storage': '1Gi' } } }];
  expect(unsupportedFields(withSpec({ containers }), EMBEDDED_LIMITS)).toEqual([]);
});

test('plain processes with cgroups have limits', () => {
  const limits = embeddedLimits({ isRoot: true, hasVolumes: true, hasCgroups: true, allocatable: {} });
  expect(unsupportedFields(ASKING, limits)).toEqual(['spec.containers[web].volumeDevices']);
  expect(unsupportedFields(withSpec({ resources: { limits: { memory: '1Gi' } } }), limits)).toEqual([]);
});

test('plain processes get no devices: each resource is named that the node is not configured to count', () => {
  const allocatable = { 'example.com/licence': '2' };
  const limits = embeddedLimits({ isRoot: true, hasVolumes: true, hasCgroups: true, allocatable });
  const resources = { limits: { memory: '1Gi', 'example.com/gpu': '1', 'example.com/licence': '1' } };
  expect(unsupportedFields(withSpec({ containers: [{ name: 'a', resources }] }), limits)).toEqual([
    'spec.containers[a].resources.limits[example.com/gpu]',
  ]);
});

describe('of plain processes', () => {
  const securityContext = {
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    privileged: true,
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    seccompProfile: { type: 'RuntimeDefault' },
    appArmorProfile: { type: 'RuntimeDefault' },
    seLinuxOptions: { level: 's0' },
  };
  const demanding = withSpec({
    runtimeClassName: 'sandboxed',
    hostUsers: false,
    hostAliases: [{ ip: '192.0.2.1', hostnames: ['db'] }],
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['192.0.2.53'] },
    imagePullSecrets: [{ name: 'registry' }],
    resources: { limits: { memory: '1Gi' } },
    securityContext: {
      sysctls: [{ name: 'net.core.somaxconn', value: '1' }],
      fsGroup: 1,
      supplementalGroups: [2],
      supplementalGroupsPolicy: 'Merge',
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'Localhost', localhostProfile: 'p.json' },
      appArmorProfile: { type: 'Localhost', localhostProfile: 'p' },
      seLinuxOptions: { type: 't' },
    },
    containers: [
      { name: 'web', securityContext, ports: [{ containerPort: 80, hostPort: 8080, hostIP: '192.0.2.1' }] },
    ],
  });
  const POD = [
    'resources.limits',
    'runtimeClassName',
    'hostUsers',
    'hostAliases',
    'dnsPolicy',
    'dnsConfig',
    'imagePullSecrets',
    'securityContext.sysctls',
    'securityContext.supplementalGroupsPolicy',
    'securityContext.fsGroupChangePolicy',
    'securityContext.seccompProfile',
    'securityContext.appArmorProfile',
    'securityContext.seLinuxOptions',
  ].map((path) => `spec.${path}`);
  const CONTAINER = [
    'ports.hostPort',
    'ports.hostIP',
    'securityContext.readOnlyRootFilesystem',
    'securityContext.seccompProfile',
    'securityContext.appArmorProfile',
    'securityContext.seLinuxOptions',
  ].map((path) => `spec.containers[web].${path}`);

  test('every field that needs namespaces, mounts or security modules of the kernel is listed', () => {
    expect(unsupportedFields(demanding, EMBEDDED_LIMITS)).toEqual([...POD, ...CONTAINER]);
  });

  test('without root, the fields that need root are listed too', () => {
    expect(unsupportedFields(demanding, WITHOUT_ROOT)).toEqual([
      ...[...POD, 'spec.securityContext.fsGroup', 'spec.securityContext.supplementalGroups'],
      ...[...CONTAINER, 'spec.containers[web].securityContext.privileged'],
      'spec.containers[web].securityContext.capabilities.add',
    ]);
  });

  test('fields that ask for what processes have anyway are not listed: unconfined profiles, the host network and its ports', () => {
    const undemanding = withSpec({
      hostNetwork: true,
      hostPID: true,
      shareProcessNamespace: true,
      hostUsers: true,
      securityContext: { seccompProfile: { type: 'Unconfined' }, runAsNonRoot: true, runAsUser: 1 },
      containers: [
        {
          name: 'web',
          ports: [{ containerPort: 80, hostPort: 80 }],
          securityContext: { readOnlyRootFilesystem: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    });
    expect(unsupportedFields(undemanding, WITHOUT_ROOT)).toEqual([]);
  });
});
