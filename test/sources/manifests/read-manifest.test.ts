import { describe, expect, test } from '@jest/globals';
import { parseManifest } from '../../../src/sources/manifests/read-manifest.ts';
import { problemText } from '../../../src/sources/source.ts';

const parse = (text: string | object) =>
  parseManifest(Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)));
const problems = (text: string | object) => parse(text).problems.map((problem) => problemText(problem));
const pod = (spec: object, metadata: object = { name: 'web' }) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec: { containers: [{ name: 'main' }], ...spec },
});
const withContainer = (container: object, spec: object = {}) =>
  pod({ ...spec, containers: [{ name: 'main', ...container }] });

describe('what a manifest may be', () => {
  const yaml = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}\n';

  test('a pod in YAML or JSON', () => {
    expect(parse(yaml)).toEqual({ pods: [pod({})], problems: [] });
    expect(parse(pod({}))).toEqual({ pods: [pod({})], problems: [] });
  });

  test('several documents, empty ones passed over', () => {
    const { pods } = parse(`---\n${yaml}---\n---\n${yaml.replace('web', 'db')}---\n# the end\n`);
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web', 'db']);
  });

  test('a List of pods, or a PodList whose items do not say what they are', () => {
    const { metadata, spec } = pod({});
    expect(parse({ apiVersion: 'v1', kind: 'List', items: [pod({})] }).pods).toEqual([pod({})]);
    expect(parse({ apiVersion: 'v1', kind: 'PodList', items: [{ metadata, spec }] }).pods).toEqual([pod({})]);
    expect(parse({ apiVersion: 'v1', kind: 'PodList', items: [] })).toEqual({ pods: [], problems: [] });
  });

  test('a member that is null is not set', () => {
    const dump = pod(
      { volumes: null, containers: [{ name: 'main', env: null }] },
      { name: 'web', creationTimestamp: null },
    );
    expect(parse({ ...dump, status: {} }).pods).toEqual([{ ...pod({}), status: {} }]);
  });
});

const TOO_DEEP = 'is nested deeper than 100 levels';

describe('what is no manifest', () => {
  test.each([
    ['nothing', '', 'holds no pod: it is empty'],
    ['comments', '# soon\n---\n', 'holds no pod: it is empty'],
    ['a list', '[1]', 'must be an object with apiVersion, kind, metadata and spec (got a list)'],
    ['broken YAML', 'kind: Pod\nspec: {a: [1,\n', /^is not valid YAML: .* at line 3, column 1$/],
    ['broken JSON', '{"kind": "Pod",, }', /^is not valid YAML: .* at line 1, column 16$/],
    [
      'a key given twice',
      'kind: Pod\nkind: Pod',
      /^is not valid YAML: Map keys must be unique at line 2, column 1$/,
    ],
    ['nesting without end in JSON', `{"a":`.repeat(100_000) + '1' + '}'.repeat(100_000), TOO_DEEP],
    ['nesting without end in flow YAML', `{a: `.repeat(100_000), TOO_DEEP],
    ['nesting without end in block YAML', '- '.repeat(100_000), TOO_DEEP],
    ['an alias of what it is in', 'a: &a {b: *a}', TOO_DEEP],
    [
      'aliases of aliases',
      `a: &a [x]\n${aliases(['a', 'b', 'c', 'd', 'e', 'f', 'g'], 16)}`,
      /^cannot be read: Excessive alias count/,
    ],
    [
      'aliases of many values',
      `a: &a [${'x,'.repeat(3000)}]\nb: [${'*a,'.repeat(20)}]`,
      'has aliases that repeat more than 10000 values',
    ],
    ['many aliases', `a: &a x\nb: [${'*a,'.repeat(101)}]`, 'has more than 100 aliases'],
    [
      'many documents',
      'a: 1\n---\n'.repeat(1001),
      'has more than 1000 documents: split it into several files',
    ],
  ])('%s', (_name, text, message) => {
    const found = problems(text);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  function aliases(names: readonly string[], times: number): string {
    return names
      .slice(1)
      .map((name, index) => `${name}: &${name} [${`*${names[index]},`.repeat(times)}]`)
      .join('\n');
  }

  test('bytes that are no UTF-8', () => {
    expect(parseManifest(Buffer.from([0x6b, 0xff])).problems).toEqual([{ message: 'is not UTF-8 text' }]);
  });

  test('more than 10 MiB', () => {
    expect(parseManifest(Buffer.alloc(10 * 1024 * 1024 + 1, '#')).problems).toEqual([
      { message: 'is larger than 10 MiB' },
    ]);
  });

  test('another kind, another version, or none', () => {
    expect(problems({ ...pod({}), kind: 'Deployment', apiVersion: 'apps/v1' })).toEqual([
      'apiVersion: must be v1 (got "apps/v1")',
      'kind: must be Pod or PodList or List (got "Deployment"); a node runs nothing but pods',
    ]);
    expect(problems({ spec: {} })).toEqual(['apiVersion: is required', 'kind: is required']);
    expect(
      problems({ apiVersion: 'v1', kind: 'List', items: [pod({}), { ...pod({}), kind: 'Service' }, 3] }),
    ).toEqual([
      'items[1].kind: must be Pod (got "Service"); a node runs nothing but pods',
      'items[2]: must be an object with apiVersion, kind, metadata and spec (got a number)',
    ]);
  });
});

describe('the schema of a pod', () => {
  test('a wrong type, by its field', () => {
    expect(problems(withContainer({ ports: [{ containerPort: '80a' }] }))).toEqual([
      'spec.containers[0].ports[0].containerPort: must be integer (got "80a")',
    ]);
  });

  test('an unknown field, with the name that was probably meant', () => {
    expect(problems(withContainer({ comand: ['sh'] }))).toEqual([
      'spec.containers[0].comand: unknown field; did you mean "command"?',
    ]);
    expect(problems(pod({ hostnetwork: true }))).toEqual([
      'spec.hostnetwork: unknown field; did you mean "hostNetwork"?',
    ]);
    expect(problems(pod({ replicas: 3 }))).toEqual(['spec.replicas: unknown field']);
  });

  test('a number or boolean where YAML wants quotes', () => {
    expect(problems(withContainer({ env: [{ name: 'PORT', value: 8080 }] }))).toEqual([
      'spec.containers[0].env[0].value: must be string (got a number); put it in quotes',
    ]);
  });

  test.each([
    ['a value of env', withContainer({ env: [{ name: 'PIN', value: 271828 }] })],
    ['env as an object', withContainer({ env: { PIN: 271828 } })],
    ['env as texts', withContainer({ env: ['PIN=271828'] })],
    ['a value in the name of a variable', withContainer({ env: [{ name: 'PIN=271828' }] })],
    [
      'a header',
      withContainer({
        livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'PIN', value: 271828 }] } },
      }),
    ],
    ['a command', withContainer({ command: 'curl -u me:271828', args: [271828] })],
    ['a container that is a list', pod({ containers: [[{ env: 'PIN=271828' }]] })],
    ['an annotation', { ...pod({}), metadata: { name: 'a', annotations: { PIN: 271828 } } }],
    ['no manifest at all', 'PIN=271828'],
    ['a text that YAML takes for an alias', 'kind: Pod\nPIN: *271828\n'],
  ])('that is broken by what may be secret does not repeat it: %s', (_what, document) => {
    const found = problems(document);
    expect(found).not.toEqual([]);
    expect(found.join()).not.toContain('271828');
  });

  test('everything at once, in all documents', () => {
    const text = [withContainer({ image: 3 }), pod({ containers: [] }), pod({})].map((document) =>
      JSON.stringify(document),
    );
    expect(problems(text.join('\n---\n'))).toEqual([
      'document 1: spec.containers[0].image: must be a string without white space around it (got 3); put it in quotes',
      'document 2: spec.containers: must have at least 1 item',
    ]);
  });

  test('no more than ten problems', () => {
    const env = Array.from({ length: 14 }, (_, index) => ({ name: `V${index}`, value: index }));
    expect(problems(withContainer({ env }))).toHaveLength(11);
    expect(problems(withContainer({ env })).at(-1)).toBe('and 4 more problems');
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
    const found = problems(pod(spec));
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
    const found = problems(pod({}, metadata));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  test('quantities may do without quotes', () => {
    const resources = { limits: { cpu: 0.5, memory: 1e9 }, requests: { cpu: '.25', memory: '1e3' } };
    expect(problems(withContainer({ resources }))).toEqual([]);
  });
});

describe('rules between fields', () => {
  const probe = { exec: { command: ['true'] } };

  test.each([
    [
      'two containers of one name',
      pod({ initContainers: [{ name: 'a' }], containers: [{ name: 'b' }, { name: 'a' }] }),
      'spec.containers[1].name: is already used by spec.initContainers[0]',
    ],
    [
      'two volumes of one name',
      pod({ volumes: [{ name: 'v' }, { name: 'v' }] }),
      'spec.volumes[1].name: is already used by spec.volumes[0]',
    ],
    [
      'a volume of two kinds',
      pod({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] }),
      'spec.volumes[0]: may have only one of emptyDir, hostPath',
    ],
    [
      'a mount without its volume',
      withContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
      'spec.containers[0].volumeMounts[0].name: there is no volume "data" in spec.volumes',
    ],
    [
      'two mounts in one place',
      withContainer(
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
      pod({ containers: ['a', 'b'].map((name) => ({ name, ports: [{ containerPort: 80, hostPort: 80 }] })) }),
      'spec.containers[1].ports[0].hostPort: is already used by spec.containers[0].ports[0]',
    ],
    [
      'a host port that the host network does not have',
      withContainer({ ports: [{ containerPort: 80, hostPort: 81 }] }, { hostNetwork: true }),
      'spec.containers[0].ports[0].hostPort: must equal containerPort when spec.hostNetwork is true',
    ],
    [
      'a probe of an init container that is no sidecar',
      pod({ initContainers: [{ name: 'a', livenessProbe: probe }] }),
      'spec.initContainers[0].livenessProbe: only an init container with restartPolicy Always may have it',
    ],
    [
      'an ephemeral container',
      pod({ ephemeralContainers: [{ name: 'debug' }] }),
      'spec.ephemeralContainers: can only be added to a running pod, through the API server',
    ],
    [
      'a probe without a handler',
      withContainer({ livenessProbe: {} }),
      'spec.containers[0].livenessProbe: must have one of exec, httpGet, tcpSocket, grpc',
    ],
    [
      'a liveness probe that must succeed twice',
      withContainer({ livenessProbe: { ...probe, successThreshold: 2 } }),
      'spec.containers[0].livenessProbe.successThreshold: must be 1',
    ],
    [
      'a variable with two values',
      withContainer({
        env: [{ name: 'A', value: 'a', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      }),
      'spec.containers[0].env[0]: may have only one of value, valueFrom',
    ],
    [
      'restart rules without a policy of their own',
      withContainer({
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
      }),
      'spec.containers[0].restartPolicy: is required where there are restartPolicyRules',
    ],
    [
      'a request above its limit',
      withContainer({ resources: { limits: { cpu: '100m' }, requests: { cpu: 1 } } }),
      'spec.containers[0].resources.requests.cpu: must not exceed the limit',
    ],
    [
      'no name server',
      pod({ dnsPolicy: 'None' }),
      'spec.dnsConfig: must have nameservers when dnsPolicy is None',
    ],
  ])('%s', (_name, manifest, message) => {
    expect(problems(manifest)).toEqual([message]);
  });

  test('are told beside what breaks the schema', () => {
    expect(problems(pod({ containers: [{ name: 'a', tty: 'x' }, { name: 'a' }], volumes: 'none' }))).toEqual([
      'spec.containers[0].tty: must be boolean (got "x")',
      'spec.volumes: must be array (got "none")',
      'spec.containers[1].name: is already used by spec.containers[0]',
    ]);
  });

  test('a sidecar may have probes', () => {
    expect(
      problems(pod({ initContainers: [{ name: 'a', restartPolicy: 'Always', startupProbe: probe }] })),
    ).toEqual([]);
  });
});

describe('references to objects of the API server', () => {
  const refused = 'a pod of a file or URL cannot refer to objects of the API server';

  test.each([
    [{ serviceAccountName: 'robot' }, 'spec.serviceAccountName'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'spec.imagePullSecrets'],
    [{ volumes: [{ name: 'v', configMap: { name: 'c' } }] }, 'spec.volumes[0].configMap'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }] } }] },
      'spec.volumes[0].projected.sources[0].secret',
    ],
    [
      { containers: [{ name: 'a', envFrom: [{ secretRef: { name: 's' } }] }] },
      'spec.containers[0].envFrom[0].secretRef',
    ],
    [
      {
        containers: [
          { name: 'a', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
        ],
      },
      'spec.containers[0].env[0].valueFrom.configMapKeyRef',
    ],
  ])('%j', (spec, field) => {
    expect(parse(pod(spec)).problems).toEqual([{ field, message: refused }]);
  });
});
