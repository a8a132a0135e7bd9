import { describe, expect, test } from '@jest/globals';
import { podWith, podWithContainer, problemsOf } from '../support.ts';

describe('the schema of a pod reports', () => {
  test('a wrong type, by its field', () => {
    expect(problemsOf(podWithContainer({ ports: [{ containerPort: '80a' }] }))).toEqual([
      'spec.containers[0].ports[0].containerPort: must be integer (got "80a")',
    ]);
  });

  test('an unknown field, and suggests a similar name', () => {
    expect(problemsOf(podWithContainer({ comand: ['sh'] }))).toEqual([
      'spec.containers[0].comand: unknown field; did you mean "command"?',
    ]);
    expect(problemsOf(podWith({ hostnetwork: true }))).toEqual([
      'spec.hostnetwork: unknown field; did you mean "hostNetwork"?',
    ]);
    expect(problemsOf(podWith({ replicas: 3 }))).toEqual(['spec.replicas: unknown field']);
  });

  test.each([
    [
      { metadata: { restartPolicy: 'Never' } },
      'metadata.restartPolicy: unknown field; it belongs to spec: spec.restartPolicy',
    ],
    [{ containers: [] }, 'containers: unknown field; it belongs to spec: spec.containers'],
    [{ spec: { labels: {} } }, 'spec.labels: unknown field; it belongs to metadata: metadata.labels'],
    [
      { spec: { containers: [{ name: 'a', volumes: [] }] } },
      'spec.containers[0].volumes: unknown field; it belongs to spec: spec.volumes',
    ],
    [
      { spec: { containers: [{ name: 'a', securityContext: { fsGroup: 1 } }] } },
      'spec.containers[0].securityContext.fsGroup: unknown field; it belongs to spec.securityContext: spec.securityContext.fsGroup',
    ],
    [
      { spec: { containers: [{ name: 'a', privileged: true }] } },
      'spec.containers[0].privileged: unknown field; it belongs to spec.containers[0].securityContext: ' +
        'spec.containers[0].securityContext.privileged',
    ],
    [
      { spec: { command: ['a'] } },
      'spec.command: unknown field; it belongs to spec.containers[]: spec.containers[].command',
    ],
    [
      { spec: { volumes: [{ name: 'v', hostPath: { path: '/a' }, path: '/b' }] } },
      'spec.volumes[0].path: unknown field; it belongs to spec.volumes[0].hostPath: spec.volumes[0].hostPath.path',
    ],
  ])('a field at a wrong level, and says where it belongs: %j', (more, problem) => {
    const { metadata = {}, spec = {}, ...others } = more as Record<string, object>;
    const containers = [{ name: 'main' }];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', ...metadata },
      spec: { containers, ...spec },
    };
    expect(problemsOf({ ...pod, ...others })).toContain(problem);
  });

  test('what does not fit into 64 bits, and quantities that no node could have, by their fields', () => {
    expect(problemsOf(podWith({ terminationGracePeriodSeconds: 1e23 }))).toContain(
      'spec.terminationGracePeriodSeconds: must be an integer of 64 bits (got 1e+23)',
    );
    for (const amount of ['1'.repeat(7_000), '1e999999999', '1e-99999']) {
      const [problem] = problemsOf(podWithContainer({ resources: { requests: { memory: amount } } }));
      expect(problem).toMatch(/^spec.containers\[0\].resources.requests.memory: must be a quantity/);
    }
    expect(problemsOf(podWithContainer({ resources: { requests: { memory: '1e999' } } }))).toEqual([]);
  });

  test('a number or boolean where a text is wanted, and suggests quotes', () => {
    expect(problemsOf(podWithContainer({ env: [{ name: 'PORT', value: 8080 }] }))).toEqual([
      'spec.containers[0].env[0].value: must be string (got a number); put it in quotes',
    ]);
  });

  test.each([
    ['a value of env', podWithContainer({ env: [{ name: 'PIN', value: 271828 }] })],
    ['env as an object', podWithContainer({ env: { PIN: 271828 } })],
    ['env as texts', podWithContainer({ env: ['PIN=271828'] })],
    ['a value in the name of a variable', podWithContainer({ env: [{ name: 'PIN=271828' }] })],
    [
      'a header',
      podWithContainer({
        livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'PIN', value: 271828 }] } },
      }),
    ],
    ['a command', podWithContainer({ command: 'curl -u me:271828', args: [271828] })],
    ['a container that is a list', podWith({ containers: [[{ env: 'PIN=271828' }]] })],
    ['an annotation', { ...podWith({}), metadata: { name: 'a', annotations: { PIN: 271828 } } }],
    ['no manifest at all', 'PIN=271828'],
    ['a text that YAML takes for an alias', 'kind: Pod\nPIN: *271828\n'],
  ])('a problem without repeating a value that may be secret: %s', (_what, document) => {
    const found = problemsOf(document);
    expect(found).not.toEqual([]);
    expect(found.join()).not.toContain('271828');
  });

  test.each([
    [
      { restartPolicy: 'always' },
      'spec.restartPolicy: must be one of "Always", "OnFailure", "Never" (got "always")',
    ],
    [{ terminationGracePeriodSeconds: 0.5 }, 'spec.terminationGracePeriodSeconds: must be integer (got 0.5)'],
    [{ activeDeadlineSeconds: 0 }, 'spec.activeDeadlineSeconds: must be at least 1 (got 0)'],
    [{ tolerations: [{ operator: 'Is' }] }, /^spec.tolerations\[0\].operator: must be one of /],
    [
      { volumes: [{ name: 'v', hostPath: { path: '/a/../b' } }] },
      /^spec.volumes\[0\].hostPath.path: must be a path without/,
    ],
    [
      { volumes: [{ name: 'v', downwardAPI: { defaultMode: 0o1777 } }] },
      'spec.volumes[0].downwardAPI.defaultMode: must be at most 511 (got 1023)',
    ],
    [
      { volumes: [{ name: 'v', projected: { defaultMode: -1 } }] },
      'spec.volumes[0].projected.defaultMode: must be at least 0 (got -1)',
    ],
    [
      {
        volumes: [{ name: 'v' }],
        containers: [{ name: 'a', volumeMounts: [{ name: 'v', mountPath: '' }] }],
      },
      /volumeMounts\[0\].mountPath: must be a text that is not empty/,
    ],
    [
      {
        containers: [
          { name: 'a', env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }] },
        ],
      },
      /resourceFieldRef.resource: must be limits. or requests. of/,
    ],
    [
      {
        containers: [
          { name: 'a', livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'a b', value: '' }] } } },
        ],
      },
      /httpHeaders\[0\].name: must be the name of a header/,
    ],
    [{ containers: [{}] }, 'spec.containers[0].name: is required'],
    [
      { containers: [{ name: 'Main_1' }] },
      /^spec.containers\[0\].name: must be a DNS label .* \(got "Main_1"\)$/,
    ],
    [{ containers: [{ name: 'a'.repeat(64) }] }, /^spec.containers\[0\].name: must be a DNS label/],
    [
      { containers: [{ name: 'a', ports: [{ containerPort: 65536 }] }] },
      /containerPort: must be at most 65535 \(got 65536\)$/,
    ],
    [
      { containers: [{ name: 'a', resources: { limits: { memory: '1 Gi' } } }] },
      /limits.memory: must be a quantity/,
    ],
    [
      { containers: [{ name: 'a', resources: { limits: { mem: '1Gi' } } }] },
      /limits.mem: the name must be a resource/,
    ],
    [
      { containers: [{ name: 'a', resources: { limits: { cpu: -1 } } }] },
      /limits.cpu: must be at least 0 \(got -1\)$/,
    ],
    [
      { containers: [{ name: 'a', env: [{ name: 'A=B' }] }] },
      /env\[0\].name: must be the name of a variable/,
    ],
    [
      {
        containers: [
          {
            name: 'a',
            restartPolicyRules: [{ action: 'Retry', exitCodes: { operator: 'In', values: [1] } }],
            restartPolicy: 'Never',
          },
        ],
      },
      /restartPolicyRules\[0\].action: must be one of/,
    ],
  ])('%j', (spec, message) => {
    const found = problemsOf(podWith(spec));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  test.each([
    [{}, 'metadata.name: is required'],
    [{ name: 'Web' }, /^metadata.name: must be a DNS name/],
    [{ name: 'a'.repeat(254) }, /^metadata.name: must be a DNS name/],
    [{ name: 'web', namespace: 'a.b' }, /^metadata.namespace: must be a DNS label/],
    [{ name: 'web', uid: '../../etc' }, /^metadata.uid: must be a UID/],
    [
      { name: 'web', labels: { 'example.com/a b': 'x' } },
      /^metadata.labels\[example.com\/a b\]: the name must be/,
    ],
    [{ name: 'web', creationTimestamp: 'today' }, /^metadata.creationTimestamp: must be a time such as/],
  ])('metadata %j', (metadata, message) => {
    const found = problemsOf(podWith({}, metadata));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  test('no problem for quantities without quotes', () => {
    const resources = { limits: { cpu: 0.5, memory: 1e9 }, requests: { cpu: '.25', memory: '1e3' } };
    expect(problemsOf(podWithContainer({ resources }))).toEqual([]);
  });
});
