import { describe, expect, test } from '@jest/globals';
import { containerHash } from '../../src/policies/container-hash.ts';
import {
  containerConfig,
  podHostname,
  podLogsFolder,
  podSandboxConfig,
} from '../../src/policies/cri-config.ts';
import type { Container, Pod } from '../../src/types/kubernetes.ts';
import { testPod } from '../support/pods.ts';

const RESOLVED = { command: ['sleep'], args: ['9'], envs: [{ key: 'A', value: 'b' }] };
const MAIN: Container = { name: 'main', image: 'app:1', command: ['sleep'] };

const podWith = (spec: Partial<Pod['spec']>, metadata: Partial<Pod['metadata']> = {}): Pod => {
  const pod = testPod();
  return { metadata: { ...pod.metadata, ...metadata }, spec: { ...pod.spec, ...spec } };
};
const named = (name: string) => podWith({}, { name });

describe('the host name', () => {
  test('is the one of the spec', () => {
    expect(podHostname(podWith({ hostname: 'db-0' }))).toBe('db-0');
  });

  test("is the pod's name where the spec has none", () => {
    expect(podHostname(named('web'))).toBe('web');
  });

  test('is cut to the 63 characters that Linux takes', () => {
    expect(podHostname(named('a'.repeat(70)))).toBe('a'.repeat(63));
  });

  test('does not end in a dash or a dot after the cut', () => {
    expect(podHostname(named(`${'a'.repeat(60)}-.-rest`))).toBe('a'.repeat(60));
  });
});

describe('a sandbox', () => {
  const pod = podWith(
    {},
    {
      labels: { app: 'web', 'io.kubernetes.pod.uid': 'forged' },
      annotations: { note: 'kept' },
    },
  );

  test('is known by name, UID, namespace and attempt', () => {
    expect(podSandboxConfig(pod, 3, '/logs').metadata).toEqual({
      name: 'web',
      uid: 'uid-of-web',
      namespace: 'default',
      attempt: 3,
    });
  });

  test("carries the pod's labels, and over them the kubelet's, which nobody can forge", () => {
    expect(podSandboxConfig(pod, 0, '/logs').labels).toEqual({
      app: 'web',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-of-web',
    });
  });

  test("carries the pod's annotations", () => {
    expect(podSandboxConfig(pod, 0, '/logs').annotations).toEqual({ note: 'kept' });
  });

  test("has its logs in the kubelet's layout", () => {
    expect(podSandboxConfig(pod, 0, '/logs').logDirectory).toBe('/logs/default_web_uid-of-web');
    expect(podLogsFolder(pod.metadata)).toBe('default_web_uid-of-web');
  });

  test.each([
    [true, 'NODE'],
    [false, 'POD'],
  ])('with hostNetwork %s has network %s', (hostNetwork, network) => {
    const { linux } = podSandboxConfig(podWith({ hostNetwork }), 0, '/logs');
    expect(linux?.securityContext?.namespaceOptions?.network).toBe(network);
  });
});

describe('a container', () => {
  test('is known by name and attempt, and so is its log', () => {
    const config = containerConfig(testPod(), MAIN, 2, RESOLVED);
    expect(config.metadata).toEqual({ name: 'main', attempt: 2 });
    expect(config.logPath).toBe('main/2.log');
  });

  test('gets what its references were resolved to, not what the spec says', () => {
    expect(containerConfig(testPod(), MAIN, 0, RESOLVED)).toMatchObject(RESOLVED);
  });

  test("carries the kubelet's labels", () => {
    expect(containerConfig(testPod(), MAIN, 0, RESOLVED).labels).toEqual({
      'io.kubernetes.container.name': 'main',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-of-web',
    });
  });

  test('carries what the kubelet reads back after a restart: hash, restart count, termination message, grace', () => {
    const pod = testPod({ terminationGracePeriodSeconds: 7, deletionGracePeriodSeconds: 3 });
    expect(containerConfig(pod, MAIN, 2, RESOLVED).annotations).toEqual({
      'io.kubernetes.container.hash': containerHash(MAIN),
      'io.kubernetes.container.restartCount': '2',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.terminationGracePeriod': '7',
      'io.kubernetes.pod.deletionGracePeriod': '3',
    });
  });

  test('carries its own termination message path and policy', () => {
    const own: Container = {
      ...MAIN,
      terminationMessagePath: '/tmp/last-words',
      terminationMessagePolicy: 'FallbackToLogsOnError',
    };
    expect(containerConfig(testPod(), own, 0, RESOLVED).annotations).toMatchObject({
      'io.kubernetes.container.terminationMessagePath': '/tmp/last-words',
      'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
    });
  });

  test("runs as the user of its own security context before the pod's", () => {
    const pod = podWith({ securityContext: { runAsUser: 1000, runAsGroup: 2000 } });
    const own: Container = { ...MAIN, securityContext: { runAsUser: 0 } };
    expect(containerConfig(pod, own, 0, RESOLVED).linux?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 2000,
    });
  });

  test('has no terminal and no stdin unless it asks for them', () => {
    expect(containerConfig(testPod(), MAIN, 0, RESOLVED)).toMatchObject({
      stdin: false,
      stdinOnce: false,
      tty: false,
    });
    const asking: Container = { ...MAIN, stdin: true, stdinOnce: true, tty: true };
    expect(containerConfig(testPod(), asking, 0, RESOLVED)).toMatchObject({
      stdin: true,
      stdinOnce: true,
      tty: true,
    });
  });
});
