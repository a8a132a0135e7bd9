import { describe, expect, test } from '@jest/globals';
import {
  containerConfig,
  type ContainerConfigFacts,
  type ContainerFacts,
  targetContainerId,
  withAdditions,
} from '../../../../src/agent/policies/cri/container-config.ts';
import { containerHash } from '../../../../src/agent/policies/pod-actions/restart.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const RESOLVED = { command: ['sleep'], args: ['9'], envs: [{ key: 'A', value: 'b' }] };
const MAIN: Container = { name: 'main', image: 'app:1', command: ['sleep'] };
const NODE: ContainerFacts = {
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  cgroupVersion: 1,
  memoryCapacityBytes: 8 * 2 ** 30,
  swapCapacityBytes: 0,
  hugePageSizes: [],
  swapController: false,
  seccompDefault: false,
  seccompProfileRoot: '/seccomp',
};

const podWith = (spec: Partial<Pod['spec']>): Pod => {
  const pod = testPod();
  return { ...pod, spec: { ...pod.spec, ...spec } };
};
const configOf = (facts: Partial<ContainerConfigFacts> = {}) =>
  containerConfig({ pod: testPod(), container: MAIN, attempt: 0, resolved: RESOLVED, ...facts });

describe('a container', () => {
  test('has its name and attempt, and so has its log', () => {
    const config = configOf({ attempt: 2 });
    expect(config.metadata).toEqual({ name: 'main', attempt: 2 });
    expect(config.logPath).toBe('main/2.log');
  });

  test('has the resolved command and environment, not those of the spec', () => {
    expect(configOf()).toMatchObject(RESOLVED);
  });

  test("has the kubelet's labels", () => {
    expect(configOf().labels).toEqual({
      'io.kubernetes.container.name': 'main',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-of-web',
    });
  });

  test('has what is read back after a restart: hash, restart count, termination message, grace periods', () => {
    const pod = testPod({ terminationGracePeriodSeconds: 7, deletionGracePeriodSeconds: 3 });
    expect(configOf({ pod, attempt: 2 }).annotations).toEqual({
      'io.kubernetes.container.hash': containerHash(MAIN),
      'io.kubernetes.container.restartCount': '2',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'statelet.dev/resources': '{"container":{}}',
      'io.kubernetes.pod.terminationGracePeriod': '7',
      'io.kubernetes.pod.deletionGracePeriod': '3',
    });
  });

  test('has its own path and policy of the termination message', () => {
    const own: Container = {
      ...MAIN,
      terminationMessagePath: '/tmp/last-words',
      terminationMessagePolicy: 'FallbackToLogsOnError',
    };
    expect(configOf({ container: own }).annotations).toMatchObject({
      'io.kubernetes.container.terminationMessagePath': '/tmp/last-words',
      'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
    });
  });

  test("runs as the user of its own security context, else of the pod's", () => {
    const pod = podWith({ securityContext: { runAsUser: 1000, runAsGroup: 2000 } });
    const own: Container = { ...MAIN, securityContext: { runAsUser: 0 } };
    expect(configOf({ pod, container: own }).linux?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 2000,
    });
  });

  test('has a terminal and stdin only if it asks for them', () => {
    expect(configOf()).toMatchObject({
      stdin: false,
      stdinOnce: false,
      tty: false,
    });
    const asking: Container = { ...MAIN, stdin: true, stdinOnce: true, tty: true };
    expect(configOf({ container: asking })).toMatchObject({
      stdin: true,
      stdinOnce: true,
      tty: true,
    });
  });

  test('has its preStop hook and its ports as JSON', () => {
    const preStop = { exec: { command: ['sync'] } };
    const ports = [{ containerPort: 80, protocol: 'TCP' }];
    const { annotations } = configOf({ container: { ...MAIN, lifecycle: { preStop }, ports } });
    expect(JSON.parse(annotations['io.kubernetes.container.preStopHandler'] ?? '')).toEqual(preStop);
    expect(JSON.parse(annotations['io.kubernetes.container.ports'] ?? '')).toEqual(ports);
  });

  test("has the runtime's reference of its image, and the pod's", () => {
    expect(configOf({ imageRef: 'sha256:7' }).image).toEqual({
      image: 'sha256:7',
      userSpecifiedImage: 'app:1',
    });
    expect(configOf().image).toEqual({ image: 'app:1', userSpecifiedImage: 'app:1' });
  });

  test('has its working directory, and the devices that a part of the node adds', () => {
    const devices = [{ containerPath: '/dev/fuse', hostPath: '/dev/fuse', permissions: 'rw' }];
    const container = { ...MAIN, workingDir: '/srv' };
    expect(withAdditions(configOf({ container }), { devices })).toMatchObject({
      workingDir: '/srv',
      devices,
    });
  });

  test('that is a plain process has its user, and nothing that only a container can have', () => {
    const container = { ...MAIN, resources: { limits: { memory: '1Gi' } } };
    expect(configOf({ container, imageUser: { uid: 7 } }).linux).toEqual({
      securityContext: { runAsUser: 7 },
    });
  });

  test('that is no plain process has its resources and its whole security context', () => {
    const container = { ...MAIN, resources: { limits: { memory: '1Gi' } } };
    const { linux } = configOf({ container, node: NODE, imageUser: {} });
    expect(linux?.resources?.memoryLimitInBytes).toBe(2 ** 30);
    expect(linux?.securityContext).toMatchObject({ runAsUser: 0, noNewPrivs: false, privileged: false });
  });
});

describe('an ephemeral container', () => {
  const debug = (targetContainerName?: string): EphemeralContainer => ({
    name: 'debug',
    image: 'tools',
    ...(targetContainerName && { targetContainerName }),
  });
  const podStatus = runtimePodStatus({
    containers: [
      { id: 'new', name: 'main', state: 'running' },
      { id: 'old', name: 'main', state: 'exited' },
    ],
  });

  test('targets the newest instance of the container that it names', () => {
    expect(targetContainerId(debug('main'), podStatus)).toBe('new');
    expect(targetContainerId(debug(), podStatus)).toBeUndefined();
    expect(targetContainerId(MAIN, podStatus)).toBeUndefined();
  });

  test('whose target does not exist is refused', () => {
    expect(() => targetContainerId(debug('none'), podStatus)).toThrow('unable to find target container none');
  });

  test.each([
    [{}, 'TARGET', 'new'],
    [{ shareProcessNamespace: true }, 'POD', undefined],
    [{ hostPID: true }, 'NODE', undefined],
  ])('in a pod with %j joins the PID namespace %s', (spec, pid, targetId) => {
    const config = configOf({ pod: podWith(spec), container: debug('main'), node: NODE, targetId: 'new' });
    const options = config.linux?.securityContext?.namespaceOptions;
    expect([options?.pid, options?.targetId]).toEqual([pid, targetId]);
  });
});
