import { expect, test } from '@jest/globals';
import { criNode, type CriNodeOptions } from '../../../../src/agent/runtime/node/cri-node.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const POD: Pod = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: {
    containers: [{ name: 'main', image: 'app:1' }],
    securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] },
  },
};
const PREPARED = ['cgroups.prepare', 'volumes.mountPod'];
const RELEASED = ['volumes.releaseVolumes', 'cgroups.release', 'users.release'];

/** A node whose subsystems only note their calls; those in `failing` reject. */
function bed(failing: ReadonlySet<string> = new Set(), hasDrivers = false) {
  const calls: string[] = [];
  const subsystem = (name: string) =>
    new Proxy(
      {},
      {
        get: (_, method) => () => {
          const call = `${name}.${String(method)}`;
          calls.push(call);
          if (failing.has(call)) throw new Error('busy');
          return Promise.resolve();
        },
      },
    ) as never;
  const node = criNode({
    podLogsDir: '/var/log/pods',
    hostIPs: ['192.0.2.1'],
    hostname: 'node-a',
    allocatable: {},
    containers: {} as CriNodeOptions['containers'],
    clusterDomain: '',
    selinux: false,
    runtimeClasses: { handlers: new Map(), areOfCluster: false },
    allowedUnsafeSysctls: [],
    appArmor: false,
    dns: subsystem('dns'),
    startTimes: subsystem('startTimes'),
    knownContainers: subsystem('knownContainers'),
    cgroups: subsystem('cgroups'),
    devices: subsystem('devices'),
    volumes: subsystem('volumes'),
    users: subsystem('users'),
    capabilities: subsystem('capabilities'),
    images: subsystem('images'),
    podLogs: subsystem('podLogs'),
    logs: subsystem('logs'),
    logLinks: subsystem('logLinks'),
    ...(hasDrivers && { dra: subsystem('dra') }),
  });
  return { node, calls };
}

test('a pod gets its cgroup before its volumes, and gives them back in the reverse order', async () => {
  const { node, calls } = bed();
  await node.prepare(POD, new AbortController().signal);
  await node.release('uid-web');
  expect(calls).toEqual([...PREPARED, ...RELEASED]);
});

test('claims of DRA drivers are prepared after volumes, and unprepared before', async () => {
  const { node, calls } = bed(new Set(), true);
  await node.prepare(POD, new AbortController().signal);
  await node.release('uid-web');
  expect(calls).toEqual([...PREPARED, 'dra.prepare', 'dra.release', ...RELEASED]);
});

test('when a pod is removed, its processes end first, then its logs are removed; its folder and its start time are removed last', async () => {
  const { node, calls } = bed();
  await node.remove(POD.metadata);
  expect(calls).toEqual([
    ...['cgroups.endProcesses', 'podLogs.remove', 'logLinks.removeOf', 'dns.forget'],
    ...RELEASED,
    ...['volumes.unmountPod', 'knownContainers.remove', 'startTimes.remove'],
  ]);
});

test('the log of an instance is removed before the link to it', async () => {
  const { node, calls } = bed();
  const { containers } = runtimePodStatus({ containers: [{ id: 'c1', name: 'main', state: 'exited' }] });
  await node.removing(POD.metadata, containers[0]!);
  expect(calls).toEqual(['logs.clean', 'logLinks.remove']);
});

test('without its cgroup a pod gets no volumes', async () => {
  const { node, calls } = bed(new Set(['cgroups.prepare']));
  await expect(node.prepare(POD, new AbortController().signal)).rejects.toMatchObject({
    reason: 'FailedCreatePodContainer',
  });
  expect(calls).toEqual(['cgroups.prepare']);
});

test('while a volume is busy the pod keeps its cgroup, its ids and its folder; its logs are gone', async () => {
  const { node, calls } = bed(new Set(['volumes.releaseVolumes']));
  await expect(node.remove(POD.metadata)).rejects.toThrow('busy');
  expect(calls).toEqual([
    ...['cgroups.endProcesses', 'podLogs.remove', 'logLinks.removeOf', 'dns.forget'],
    'volumes.releaseVolumes',
  ]);
});

test('while processes of a pod that is removed do not end, nothing of it is removed', async () => {
  const { node, calls } = bed(new Set(['cgroups.endProcesses']));
  await expect(node.remove(POD.metadata)).rejects.toThrow('busy');
  expect(calls).toEqual(['cgroups.endProcesses']);
});

test('while processes are in its cgroup no other pod gets the ids of its user namespace', async () => {
  const { node, calls } = bed(new Set(['cgroups.release']));
  await expect(node.release('uid-web')).rejects.toThrow('busy');
  expect(calls).not.toContain('users.release');
});

test('a sysctl that is not safe rejects a pod before AppArmor does', () => {
  const { node } = bed();
  const profile = { 'container.apparmor.security.beta.kubernetes.io/main': 'localhost/none' };
  const pod = { ...POD, metadata: { ...POD.metadata, annotations: profile } };
  const signal = new AbortController().signal;
  expect(node.admit(pod, signal)).toMatchObject({ reason: 'SysctlForbidden' });
  const plain = { ...pod, spec: { containers: POD.spec.containers } };
  expect(node.admit(plain, signal)).toMatchObject({ reason: 'AppArmor' });
});
