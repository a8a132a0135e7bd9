import { describe, expect, test } from '@jest/globals';
import { isStaticPod } from '../../src/policies/pod/pod-kinds.ts';
import { computePodQOS } from '../../src/policies/pod/qos.ts';
import { parseManifest, type ManifestPod } from '../../src/sources/manifests/read-manifest.ts';
import { staticPod } from '../../src/sources/static-pod.ts';

const ORIGIN = { source: 'file', location: '/manifests/web.yaml', nodeName: 'Node-A' } as const;
const DIGEST = `sha256:${'0a'.repeat(32)}`;

function manifest(spec: object = {}, metadata: object = {}, status?: object): ManifestPod {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'main' }], ...spec },
    ...(status && { status }),
  };
  const { pods, problems } = parseManifest(Buffer.from(JSON.stringify(pod)));
  expect(problems).toEqual([]);
  return pods[0]!;
}
const made = (spec: object = {}, metadata: object = {}) => staticPod(manifest(spec, metadata), ORIGIN);
const container = (fields: object, spec: object = {}) =>
  made({ ...spec, containers: [{ name: 'main', ...fields }] }).spec.containers[0]!;

describe('who a static pod is', () => {
  test('its name ends with the node, in lower case; its namespace is default', () => {
    const pod = made();
    expect(pod.metadata).toMatchObject({ name: 'web-node-a', namespace: 'default' });
    expect(pod.spec.nodeName).toBe('Node-A');
    expect(made({}, { namespace: 'kube-system' }).metadata.namespace).toBe('kube-system');
  });

  test('the same content in the same place is the same pod, in whatever order it is written', () => {
    const again = staticPod(manifest({}, { labels: { a: 'x', b: 'y' } }), ORIGIN).metadata.uid;
    expect(again).toMatch(/^[0-9a-f]{32}$/);
    expect(staticPod(manifest({}, { labels: { b: 'y', a: 'x' } }), ORIGIN).metadata.uid).toBe(again);
    expect(
      staticPod(manifest({}, { labels: { a: 'x', b: 'y' } }, { phase: 'Running' }), ORIGIN).metadata.uid,
    ).toBe(again);
  });

  test('another content, place or node is another pod', () => {
    const uids = [
      made(),
      made({ restartPolicy: 'Never' }),
      staticPod(manifest(), { ...ORIGIN, location: '/manifests/copy.yaml' }),
      staticPod(manifest(), { ...ORIGIN, nodeName: 'node-b' }),
    ].map(({ metadata }) => metadata.uid);
    expect(new Set(uids).size).toBe(4);
  });

  test('a UID of its own is kept and is its hash', () => {
    const { uid, annotations } = made({}, { uid: 'my-own' }).metadata;
    expect([uid, annotations?.['kubernetes.io/config.hash']]).toEqual(['my-own', 'my-own']);
  });

  test('annotations say where it comes from; it is no mirror pod, whatever was copied', () => {
    const pod = made(
      {},
      {
        annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'api', mine: 'y' },
      },
    );
    expect(pod.metadata.annotations).toEqual({
      mine: 'y',
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.hash': pod.metadata.uid,
    });
    expect(isStaticPod(pod)).toBe(true);
  });

  test('it begins as Pending, whatever status was written down', () => {
    const pod = staticPod(manifest({}, {}, { phase: 'Failed', reason: 'Evicted' }), ORIGIN);
    expect(pod.status).toEqual({ phase: 'Pending' });
  });

  test('it tolerates every NoExecute taint, once', () => {
    const everything = { operator: 'Exists', effect: 'NoExecute' };
    expect(made().spec.tolerations).toEqual([everything]);
    const own = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };
    expect(made({ tolerations: [own, { ...everything, tolerationSeconds: 3 }] }).spec.tolerations).toEqual([
      own,
      everything,
    ]);
  });

  test('it cannot be changed', () => {
    const pod = made({}, { labels: { a: 'b' } });
    expect(() => Object.assign(pod.metadata.labels!, { a: 'c' })).toThrow(TypeError);
    expect(() => (pod.spec.containers as unknown[]).push({})).toThrow(TypeError);
  });
});

describe('what the API server would fill in', () => {
  test('of the pod', () => {
    expect(made().spec).toMatchObject({
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
    });
    expect(made({ terminationGracePeriodSeconds: 0, restartPolicy: 'Never' }).spec).toMatchObject({
      terminationGracePeriodSeconds: 0,
      restartPolicy: 'Never',
    });
  });

  test('of init containers as of others', () => {
    const { initContainers } = made({ initContainers: [{ name: 'first' }] }).spec;
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
    // The API server looks at the tag alone where there is one.
    [`nginx:latest@${DIGEST}`, 'Always'],
    ['No Image', 'IfNotPresent'],
  ])('the pull policy of image %s is %s', (image, policy) => {
    expect(container({ image }).imagePullPolicy).toBe(policy);
  });

  test('a resource with a limit alone requests as much; quantities become canonical', () => {
    expect(
      container({ resources: { limits: { cpu: 0.5, memory: '1Gi' }, requests: { cpu: '100m' } } }).resources,
    ).toEqual({
      limits: { cpu: '500m', memory: '1Gi' },
      requests: { cpu: '100m', memory: '1Gi' },
    });
  });

  test('a pod with limits of its own requests what its containers do, and of the rest as much as its limit', () => {
    const resources = { limits: { cpu: 1, memory: '64Mi' } };
    const ofContainers = { initContainers: [{ name: 'a', resources: { requests: { cpu: '0.02' } } }] };
    expect(made({ resources, ...ofContainers }).spec.resources).toEqual({
      limits: { cpu: '1', memory: '64Mi' },
      requests: { cpu: '20m', memory: '64Mi' },
    });
    expect(computePodQOS(made({ resources, ...ofContainers }))).toBe('Burstable');
    expect(computePodQOS(made({ resources }))).toBe('Guaranteed');
  });

  test('ports: TCP, and in the host network the host port', () => {
    const ports = [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }];
    expect(container({ ports }).ports).toEqual([{ containerPort: 80, protocol: 'TCP' }, ports[1]]);
    expect(container({ ports: [{ containerPort: 80 }] }, { hostNetwork: true }).ports).toEqual([
      { containerPort: 80, hostPort: 80, protocol: 'TCP' },
    ]);
  });

  test('probes, where 0 is as good as nothing, and HTTP actions', () => {
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

  test('the version that a field is read in, and the service that a gRPC probe asks', () => {
    const env = [
      { name: 'A', value: 'a' },
      { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ];
    expect(container({ env, readinessProbe: { grpc: { port: 80 } } })).toMatchObject({
      env: [env[0], { name: 'B', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } }],
      readinessProbe: { grpc: { port: 80, service: '' } },
    });
  });

  test('volumes: an empty folder where nothing is said, a limit as a text, modes', () => {
    const volumes = [
      { name: 'a' },
      { name: 'b', emptyDir: { sizeLimit: 1000 } },
      { name: 'c', hostPath: { path: '/' } },
      { name: 'd', downwardAPI: {} },
    ];
    expect(made({ volumes }).spec.volumes).toEqual([
      { name: 'a', emptyDir: {} },
      { name: 'b', emptyDir: { sizeLimit: '1k' } },
      { name: 'c', hostPath: { path: '/', type: '' } },
      { name: 'd', downwardAPI: { defaultMode: 0o644 } },
    ]);
  });
});
