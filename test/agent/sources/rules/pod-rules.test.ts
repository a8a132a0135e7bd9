import { describe, expect, test } from '@jest/globals';
import { metadataProblems } from '../../../../src/agent/sources/rules/pod-rules.ts';
import { problemText } from '../../../../src/agent/sources/source.ts';
import { podWith, podWithContainer, problemsOf } from '../support.ts';

describe('rules between fields refuse', () => {
  const probe = { exec: { command: ['true'] } };

  test.each([
    [
      'two containers of one name',
      podWith({ initContainers: [{ name: 'a' }], containers: [{ name: 'b' }, { name: 'a' }] }),
      'spec.containers[1].name: is already used by spec.initContainers[0]',
    ],
    [
      'two volumes of one name',
      podWith({ volumes: [{ name: 'v' }, { name: 'v' }] }),
      'spec.volumes[1].name: is already used by spec.volumes[0]',
    ],
    [
      'a volume of two kinds',
      podWith({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] }),
      'spec.volumes[0]: may have only one of emptyDir, hostPath',
    ],
    [
      'a mount without its volume',
      podWithContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
      'spec.containers[0].volumeMounts[0].name: there is no volume "data" in spec.volumes',
    ],
    [
      'two mounts at one path',
      podWithContainer(
        {
          volumeMounts: [
            { name: 'v', mountPath: '/v' },
            { name: 'v', mountPath: '/v' },
          ],
        },
        { volumes: [{ name: 'v' }] },
      ),
      'spec.containers[0].volumeMounts[1].mountPath: is already used by spec.containers[0].volumeMounts[0]',
    ],
    [
      'one host port for two containers',
      podWith({
        containers: ['a', 'b'].map((name) => ({ name, ports: [{ containerPort: 80, hostPort: 80 }] })),
      }),
      'spec.containers[1].ports[0].hostPort: is already used by spec.containers[0].ports[0]',
    ],
    [
      'a host port in the host network that is not the container port',
      podWithContainer({ ports: [{ containerPort: 80, hostPort: 81 }] }, { hostNetwork: true }),
      'spec.containers[0].ports[0].hostPort: must equal containerPort when spec.hostNetwork is true',
    ],
    [
      'a probe of an init container that is not a sidecar',
      podWith({ initContainers: [{ name: 'a', livenessProbe: probe }] }),
      'spec.initContainers[0].livenessProbe: only an init container with restartPolicy Always may have it',
    ],
    [
      'an ephemeral container',
      podWith({ ephemeralContainers: [{ name: 'debug' }] }),
      'spec.ephemeralContainers: can only be added to a running pod, through the API server',
    ],
    [
      'a probe without a handler',
      podWithContainer({ livenessProbe: {} }),
      'spec.containers[0].livenessProbe: must have one of exec, httpGet, tcpSocket, grpc',
    ],
    [
      'a liveness probe that must succeed twice',
      podWithContainer({ livenessProbe: { ...probe, successThreshold: 2 } }),
      'spec.containers[0].livenessProbe.successThreshold: must be 1',
    ],
    [
      'a variable with two values',
      podWithContainer({
        env: [{ name: 'A', value: 'a', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      }),
      'spec.containers[0].env[0]: may have only one of value, valueFrom',
    ],
    [
      'restart rules without a policy of their own',
      podWithContainer({
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
      }),
      'spec.containers[0].restartPolicy: is required where there are restartPolicyRules',
    ],
    [
      'a request above its limit',
      podWithContainer({ resources: { limits: { cpu: '100m' }, requests: { cpu: 1 } } }),
      'spec.containers[0].resources.requests.cpu: must not exceed the limit',
    ],
    [
      'no name server',
      podWith({ dnsPolicy: 'None' }),
      'spec.dnsConfig: must have nameservers when dnsPolicy is None',
    ],
  ])('%s', (_name, manifest, message) => {
    expect(problemsOf(manifest)).toEqual([message]);
  });

  test('problems are reported together with those of the schema', () => {
    expect(
      problemsOf(podWith({ containers: [{ name: 'a', tty: 'x' }, { name: 'a' }], volumes: 'none' })),
    ).toEqual([
      'spec.containers[0].tty: must be boolean (got "x")',
      'spec.volumes: must be array (got "none")',
      'spec.containers[1].name: is already used by spec.containers[0]',
    ]);
  });

  test('but allow probes of a sidecar', () => {
    expect(
      problemsOf(podWith({ initContainers: [{ name: 'a', restartPolicy: 'Always', startupProbe: probe }] })),
    ).toEqual([]);
  });
});

function problems(metadata: object, nodeName = 'node-1', containers = [{ name: 'main' }]): string[] {
  const root = { path: '', value: { metadata: { name: 'web', ...metadata }, spec: { containers } } };
  return Array.from(metadataProblems(root, nodeName), (problem) => problemText(problem));
}

test('a pod must have a name', () => {
  expect(problems({ name: undefined })).toEqual(['metadata.name: is required']);
});

test('the name must leave space for the name of the node, which is appended', () => {
  expect(problems({ name: 'a'.repeat(246) })).toEqual([]);
  expect(problems({ name: 'a'.repeat(247) })).toEqual([
    'metadata.name: must be at most 246 characters: "-node-1" is appended',
  ]);
});

test('all annotations together have at most 256 KiB, including their keys', () => {
  const text = 'x'.repeat(256 * 1024 - 1);
  expect(problems({ annotations: { a: text } })).toEqual([]);
  expect(problems({ annotations: { ab: text } })).toEqual([
    'metadata.annotations: must have no more than 256 KiB together',
  ]);
});

test('an AppArmor annotation names a container of the pod and a known profile', () => {
  const key = (container: string) => `container.apparmor.security.beta.kubernetes.io/${container}`;
  expect(problems({ annotations: { [key('main')]: 'localhost/mine' } })).toEqual([]);
  expect(problems({ annotations: { [key('other')]: 'unconfined', [key('main')]: 'mine' } })).toEqual([
    `metadata.annotations[${key('other')}]: there is no container "other"`,
    `metadata.annotations[${key('main')}]: must be unconfined, runtime/default or localhost/PROFILE`,
  ]);
});

test('a finalizer is a standard one or has a domain', () => {
  expect(problems({ finalizers: ['orphan', 'example.com/mine', 'mine'] })).toEqual([
    'metadata.finalizers[2]: must be a name with a domain such as example.com/finalizer',
  ]);
});

test('at most one owner is the controller', () => {
  const owner = { name: 'a', controller: true };
  expect(problems({ ownerReferences: [owner, { name: 'b' }] })).toEqual([]);
  expect(problems({ ownerReferences: [owner, owner] })).toEqual([
    'metadata.ownerReferences: must name only one controller',
  ]);
});

test('metadata that breaks the schema is skipped', () => {
  expect(problems({ annotations: 'none', finalizers: [3], ownerReferences: {} })).toEqual([]);
});
