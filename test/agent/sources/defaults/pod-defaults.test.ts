import { describe, expect, test } from '@jest/globals';
import {
  priorityProblem,
  withDefaults,
  withPriority,
} from '../../../../src/agent/sources/defaults/pod-defaults.ts';

const made = (spec: object = {}) => withDefaults({ containers: [{ name: 'main' }], ...spec });
const DIGEST = `sha256:${'0a'.repeat(32)}`;
const container = (fields: object, spec: object = {}) =>
  made({ ...spec, containers: [{ name: 'main', ...fields }] }).containers[0];

test('fields of the pod that are not set get their defaults; fields that are set stay', () => {
  expect(made()).toMatchObject({
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  expect(made({ terminationGracePeriodSeconds: 0, restartPolicy: 'Never' })).toMatchObject({
    terminationGracePeriodSeconds: 0,
    restartPolicy: 'Never',
  });
});

test('an empty text is replaced by the default, a negative grace period by 1 s', () => {
  expect(made({ restartPolicy: '', dnsPolicy: '', terminationGracePeriodSeconds: -5 })).toMatchObject({
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    terminationGracePeriodSeconds: 1,
  });
});

test('init containers get the defaults of containers', () => {
  const { initContainers } = made({ initContainers: [{ name: 'first' }] });
  expect(initContainers).toEqual([
    {
      name: 'first',
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      resources: {},
    },
  ]);
});

test.each([
  [undefined, 'IfNotPresent'],
  ['nginx', 'Always'],
  ['nginx:latest', 'Always'],
  ['registry:5000/nginx', 'Always'],
  ['registry:5000/nginx:1.29', 'IfNotPresent'],
  [`nginx@${DIGEST}`, 'IfNotPresent'],
  // With a tag, the digest is ignored.
  [`nginx:latest@${DIGEST}`, 'Always'],
  ['No Image', 'IfNotPresent'],
])('the pull policy of image %s is %s', (image, policy) => {
  expect(container({ image })?.imagePullPolicy).toBe(policy);
});

test('ports get the protocol TCP, and the host port in the host network', () => {
  const ports = [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }];
  expect(container({ ports })?.ports).toEqual([{ containerPort: 80, protocol: 'TCP' }, ports[1]]);
  expect(container({ ports: [{ containerPort: 80 }] }, { hostNetwork: true })?.ports).toEqual([
    { containerPort: 80, hostPort: 80, protocol: 'TCP' },
  ]);
});

test('probes and HTTP actions get their defaults; 0 in a probe means not set', () => {
  const livenessProbe = { httpGet: { port: 80 }, periodSeconds: 0, failureThreshold: 7 };
  const lifecycle = { preStop: { httpGet: { port: 80, path: '/stop' } } };
  expect(container({ livenessProbe, lifecycle })).toMatchObject({
    livenessProbe: {
      httpGet: { port: 80, path: '/', scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 7,
    },
    lifecycle: { preStop: { httpGet: { port: 80, path: '/stop', scheme: 'HTTP' } } },
  });
});

test('field references get the version v1, and gRPC probes an empty service', () => {
  const env = [
    { name: 'A', value: 'a' },
    { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ];
  expect(container({ env, readinessProbe: { grpc: { port: 80 } } })).toMatchObject({
    env: [env[0], { name: 'B', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } }],
    readinessProbe: { grpc: { port: 80, service: '' } },
  });
});

const containers = [{ name: 'main' }];

describe('the priority of an ordinary pod', () => {
  test.each([
    [{}, 0],
    [{ priority: 7 }, 7],
    [{ priorityClassName: '' }, 0],
    [{ priorityClassName: 'system-node-critical' }, 2_000_001_000],
    [{ priorityClassName: 'system-cluster-critical' }, 2_000_000_000],
    [{ priorityClassName: 'system-node-critical', priority: 2_000_001_000 }, 2_000_001_000],
    [{ priorityClassName: 'gold', priority: 1000 }, 1000],
  ])('%j is %d', (spec, priority) => {
    expect(priorityProblem(spec)).toBeUndefined();
    expect(withPriority({ containers, ...spec })).toMatchObject({
      priority,
      preemptionPolicy: 'PreemptLowerPriority',
    });
  });

  test('has to be named where only an API server knows the class', () => {
    expect(priorityProblem({ priorityClassName: 'gold' })).toEqual({
      field: 'priorityClassName',
      message:
        '"gold" is not known without an API server (known are system-node-critical and system-cluster-critical): add its number as spec.priority',
    });
  });

  test('cannot be another one than that of a known class', () => {
    expect(priorityProblem({ priorityClassName: 'system-cluster-critical', priority: 5 })).toEqual({
      field: 'priority',
      message: 'must be that of system-cluster-critical, 2000000000, or be left out',
    });
  });

  test('a policy of the manifest stays', () => {
    expect(withPriority({ containers, preemptionPolicy: 'Never' }).preemptionPolicy).toBe('Never');
  });
});
