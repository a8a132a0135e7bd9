import { describe, expect, test } from '@jest/globals';
import { podLogsFolder, podOfLogsFolder } from '../../../../src/agent/policies/cri/cri-labels.ts';
import {
  knownRuntimeHandler,
  podSandboxConfig,
  runtimeClassesOf,
  runtimeHandler,
  type SandboxFacts,
} from '../../../../src/agent/policies/cri/sandbox-config.ts';
import { allocationFromPod } from '../../../../src/agent/policies/resize/allocation.ts';
import { userNamespace } from '../../../../src/agent/policies/security/id-mappings.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { testVectors } from '../../../support/test-vectors.ts';

const FACTS: SandboxFacts = { podLogsDir: '/logs' };
const RESOURCES = { cpuCFSQuota: true, cpuCFSQuotaPeriodUs: 100_000, cgroupVersion: 1 } as const;

const podWith = (spec: Partial<Pod['spec']>, metadata: Partial<Pod['metadata']> = {}): Pod => {
  const pod = testPod();
  return { metadata: { ...pod.metadata, ...metadata }, spec: { ...pod.spec, ...spec } };
};
const configOf = (spec: Partial<Pod['spec']>, facts: Partial<SandboxFacts> = {}) =>
  podSandboxConfig(podWith(spec), 0, { ...FACTS, ...facts });
const securityOf = (spec: Partial<Pod['spec']>) => configOf(spec).linux?.securityContext;

describe('a sandbox', () => {
  const pod = podWith(
    {},
    {
      labels: { app: 'web', 'io.kubernetes.pod.uid': 'forged' },
      annotations: { note: 'kept', 'kubernetes.io/config.source': 'file' },
    },
  );

  test('has the name, UID and namespace of its pod, and its attempt', () => {
    expect(podSandboxConfig(pod, 3, FACTS).metadata).toEqual({
      name: 'web',
      uid: 'uid-of-web',
      namespace: 'default',
      attempt: 3,
    });
  });

  test("has the pod's labels, and the kubelet's, which the pod cannot replace", () => {
    expect(podSandboxConfig(pod, 0, FACTS).labels).toEqual({
      app: 'web',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-of-web',
    });
  });

  test("has the pod's annotations, including those of its source, and what the pod has been granted", () => {
    expect(podSandboxConfig(pod, 0, FACTS).annotations).toEqual({
      note: 'kept',
      'kubernetes.io/config.source': 'file',
      'statelet.dev/resources': JSON.stringify(allocationFromPod(pod)),
    });
  });

  test("has its logs in the folder of the kubelet's layout", () => {
    expect(podSandboxConfig(pod, 0, FACTS).logDirectory).toBe('/logs/default_web_uid-of-web');
    expect(podLogsFolder(pod.metadata)).toBe('default_web_uid-of-web');
    const { name, namespace, uid } = pod.metadata;
    expect(podOfLogsFolder('default_web_uid-of-web')).toEqual({ name, namespace, uid });
    expect(podOfLogsFolder('lost+found')).toBeUndefined();
  });

  test("has its own host name, but none on the node's network", () => {
    expect(configOf({}).hostname).toBe('web');
    expect(configOf({ hostNetwork: true })).not.toHaveProperty('hostname');
  });

  test('has the DNS configuration of its pod, if the node has one', () => {
    const resolvConf = { servers: ['192.0.2.1'], searches: [], options: [] };
    const dns = { clusterDNS: [], clusterDomain: '', resolvConf };
    expect(configOf({ dnsPolicy: 'Default' }, { dns }).dnsConfig).toEqual(resolvConf);
    expect(configOf({ hostNetwork: true }, { dns }).dnsConfig).toEqual(resolvConf);
    expect(configOf({})).not.toHaveProperty('dnsConfig');
  });

  test('has the cgroup of its pod as its parent', () => {
    expect(configOf({}, { cgroupParent: '/kubepods/poduid' }).linux?.cgroupParent).toBe('/kubepods/poduid');
  });

  test('has its sysctls, with dots between the parts of their names', () => {
    const sysctls = [
      { name: 'net/ipv4/tcp_rmem', value: '1 2 3' },
      { name: 'kernel.sem', value: '4' },
    ];
    expect(configOf({ securityContext: { sysctls } }).linux?.sysctls).toEqual({
      'net.ipv4.tcp_rmem': '1 2 3',
      'kernel.sem': '4',
    });
  });

  test('has no CPU quota where a container has CPUs for itself', () => {
    const resources = { requests: { cpu: '1' }, limits: { cpu: '1' } };
    const quota = (facts: Partial<SandboxFacts>) =>
      configOf({ containers: [{ name: 'a', resources }] }, facts).linux?.resources?.cpuQuota;
    expect(quota({ resources: RESOURCES, hasOwnCpus: true })).toBe(-1);
    expect(quota({ resources: RESOURCES, hasOwnCpus: false })).toBe(100_000);
    expect(quota({ resources: { ...RESOURCES, cpuCFSQuota: false }, hasOwnCpus: true })).toBe(0);
  });

  test('has the resources of all containers together, and the overhead apart from them', () => {
    const resources = { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } };
    const containers: Container[] = [
      { name: 'a', resources },
      { name: 'b', resources },
    ];
    const { linux } = configOf({ containers, overhead: { memory: '8Mi' } }, { resources: RESOURCES });
    expect(linux?.resources).toEqual({
      cpuShares: 512,
      cpuPeriod: 100_000,
      cpuQuota: 100_000,
      memoryLimitInBytes: 128 * 2 ** 20,
      oomScoreAdj: 0,
    });
    expect(linux?.overhead).toEqual({
      cpuShares: 2,
      cpuPeriod: 100_000,
      cpuQuota: 0,
      memoryLimitInBytes: 8 * 2 ** 20,
      oomScoreAdj: 0,
    });
    expect(configOf({ containers }, { resources: RESOURCES }).linux?.overhead).toEqual({});
  });
});

describe('the namespaces of a sandbox', () => {
  test.each([
    [{}, { network: 'POD', pid: 'CONTAINER', ipc: 'POD' }],
    [{ hostNetwork: true }, { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' }],
    [{ hostPID: true }, { network: 'POD', pid: 'NODE', ipc: 'POD' }],
    [{ hostIPC: true }, { network: 'POD', pid: 'CONTAINER', ipc: 'NODE' }],
    [{ shareProcessNamespace: true }, { network: 'POD', pid: 'POD', ipc: 'POD' }],
    [
      { shareProcessNamespace: false, hostUsers: true },
      { network: 'POD', pid: 'CONTAINER', ipc: 'POD' },
    ],
  ])('with %j', (spec, wanted) => {
    const usernsOptions = { mode: 'NODE', uids: [], gids: [] };
    expect(securityOf(spec)?.namespaceOptions).toEqual({ ...wanted, usernsOptions });
  });

  test('a pod with hostUsers: false has the ids that the node has reserved for it', () => {
    const users = userNamespace({ hostId: 131_072, length: 65_536 });
    const config = configOf({ hostUsers: false }, { users });
    const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };
    expect(config.linux?.securityContext?.namespaceOptions.usernsOptions).toEqual({
      mode: 'POD',
      uids: [mapping],
      gids: [mapping],
    });
  });

  test('a pod with hostUsers: false is refused if there are no user namespaces', () => {
    expect(() => configOf({ hostUsers: false })).toThrow("can't set `spec.hostUsers: false`");
  });
});

describe('the security context of a sandbox', () => {
  test('its own process is confined', () => {
    expect(securityOf({})).toEqual({
      namespaceOptions: {
        network: 'POD',
        pid: 'CONTAINER',
        ipc: 'POD',
        usernsOptions: { mode: 'NODE', uids: [], gids: [] },
      },
      supplementalGroups: [],
      privileged: false,
      seccomp: { profileType: 'RuntimeDefault', localhostRef: '' },
    });
  });

  test('it has the user and the groups of the pod', () => {
    const securityContext = {
      runAsUser: 1000,
      runAsGroup: 3000,
      fsGroup: 2000,
      supplementalGroups: [4000],
      supplementalGroupsPolicy: 'Strict',
      seLinuxOptions: { level: 's0:c1' },
      seccompProfile: { type: 'Unconfined' },
    };
    expect(securityOf({ securityContext })).toMatchObject({
      runAsUser: 1000,
      runAsGroup: 3000,
      supplementalGroups: [2000, 4000],
      supplementalGroupsPolicy: 'Strict',
      selinuxOptions: { user: '', role: '', type: '', level: 's0:c1' },
      seccomp: { profileType: 'RuntimeDefault' },
    });
  });

  test('a group without a user is passed on, although runtimes refuse it', () => {
    expect(securityOf({ securityContext: { runAsGroup: 3000 } })?.runAsGroup).toBe(3000);
  });

  test.each(['containers', 'initContainers', 'ephemeralContainers'] as const)(
    'it is privileged where one of %s is',
    (list) => {
      const privileged: Container = { name: 'x', securityContext: { privileged: true } };
      expect(securityOf({ [list]: [{ name: 'plain' }, privileged] })?.privileged).toBe(true);
    },
  );
});

describe('port mappings', () => {
  const web: Container = {
    name: 'web',
    ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 9 }],
  };
  const ports = (spec: Partial<Pod['spec']>) => configOf(spec).portMappings;

  test('are all ports, with or without a port of the node', () => {
    expect(ports({ containers: [web, { name: 'plain', ports: [{ containerPort: 7 }] }] })).toEqual([
      { protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' },
      { protocol: 'TCP', containerPort: 9, hostPort: 0, hostIp: '' },
      { protocol: 'TCP', containerPort: 7, hostPort: 0, hostIp: '' },
    ]);
    expect(ports({ containers: [{ name: 'none' }] })).toBeUndefined();
  });

  test('have the protocol and the address of the spec', () => {
    const udp = { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '192.0.2.1' };
    expect(ports({ containers: [{ name: 'dns', ports: [udp] }] })).toEqual([
      { protocol: 'UDP', containerPort: 53, hostPort: 53, hostIp: '192.0.2.1' },
    ]);
  });

  test('of init containers are left out, also those of sidecars', () => {
    const initPorts = [{ containerPort: 1, hostPort: 2 }];
    const sidecar: Container = { name: 's', restartPolicy: 'Always', ports: initPorts };
    const init: Container = { name: 'i', ports: initPorts };
    const found = ports({ containers: [web], initContainers: [init, sidecar] });
    expect(found?.map(({ hostPort }) => hostPort)).toEqual([8080, 0]);
  });

  test("are given on the node's network too", () => {
    expect(ports({ hostNetwork: true, containers: [web] })).toHaveLength(2);
  });
});

testVectors('runtimeClass');

const podOf = (runtimeClassName?: string) => {
  const base = testPod();
  return { ...base, spec: { ...base.spec, ...(runtimeClassName !== undefined && { runtimeClassName }) } };
};

const CLASSES = runtimeClassesOf(['gvisor=runsc', 'plain=']);

test('a pod without a RuntimeClass has the default handler of the runtime', () => {
  expect(runtimeHandler(podOf(), CLASSES)).toBeUndefined();
  expect(runtimeHandler(podOf(''), CLASSES)).toBeUndefined();
});

test('a pod of a known RuntimeClass has its handler', () => {
  expect(runtimeHandler(podOf('gvisor'), CLASSES)).toBe('runsc');
  expect(runtimeHandler(podOf('plain'), CLASSES)).toBeUndefined();
});

describe('a pod of an unknown RuntimeClass', () => {
  test('is refused, not run by the default handler', () => {
    expect(() => runtimeHandler(podOf('kata'), CLASSES)).toThrow(
      expect.objectContaining({ kind: 'FailedPrecondition' }),
    );
  });

  test('is refused in the words of the kubelet', () => {
    expect(() => runtimeHandler(podOf('kata'), { ...CLASSES, areOfCluster: true })).toThrow(
      /^runtimeclass\.node\.k8s\.io "kata" not found$/,
    );
  });

  test('gets on a node without a cluster the list of classes', () => {
    expect(() => runtimeHandler(podOf('kata'), CLASSES)).toThrow(
      'runtimeclass.node.k8s.io "kata" not found: this node knows gvisor, plain; leave',
    );
    expect(() => runtimeHandler(podOf('kata'), runtimeClassesOf([]))).toThrow('this node knows none');
  });

  test('has the default handler where its sandbox exists: the class was deleted since', () => {
    expect(knownRuntimeHandler(podOf('kata'), CLASSES)).toBeUndefined();
    expect(knownRuntimeHandler(podOf('gvisor'), CLASSES)).toBe('runsc');
  });
});
