import { describe, expect, test } from '@jest/globals';
import {
  isLocalPod,
  isStaticPod,
  MANIFEST_HASH_ANNOTATION,
} from '../../../src/agent/policies/pod/pod-kinds.ts';
import { parseManifest, type ManifestPod } from '../../../src/agent/sources/manifests/read-manifest.ts';
import { manifestPod } from '../../../src/agent/sources/pod-of-manifest.ts';

const ORIGIN = { source: 'file', location: '/manifests/web.yaml', nodeName: 'Node-A' } as const;

function manifest(spec: object = {}, metadata: object = {}, status?: object): ManifestPod {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'main' }], ...spec },
    ...(status && { status }),
  };
  const { pods, problems } = parseManifest(Buffer.from(JSON.stringify(pod)), ORIGIN);
  expect(problems).toEqual([]);
  return pods[0]!;
}
const made = (spec: object = {}, metadata: object = {}) => manifestPod(manifest(spec, metadata), ORIGIN);

describe('a static pod', () => {
  test('has a name that ends with the node in lower case; its default namespace is "default"', () => {
    const pod = made();
    expect(pod.metadata).toMatchObject({ name: 'web-node-a', namespace: 'default' });
    expect(pod.spec.nodeName).toBe('Node-A');
    expect(made({}, { namespace: 'kube-system' }).metadata.namespace).toBe('kube-system');
  });

  test('is the same pod for the same content at the same location, whatever the order of the fields', () => {
    const again = manifestPod(manifest({}, { labels: { a: 'x', b: 'y' } }), ORIGIN).metadata.uid;
    expect(again).toMatch(/^[0-9a-f]{32}$/);
    expect(manifestPod(manifest({}, { labels: { b: 'y', a: 'x' } }), ORIGIN).metadata.uid).toBe(again);
    expect(
      manifestPod(manifest({}, { labels: { a: 'x', b: 'y' } }, { phase: 'Running' }), ORIGIN).metadata.uid,
    ).toBe(again);
  });

  test('is another pod for another content, location or node', () => {
    const uids = [
      made(),
      made({ restartPolicy: 'Never' }),
      manifestPod(manifest(), { ...ORIGIN, location: '/manifests/copy.yaml' }),
      manifestPod(manifest(), { ...ORIGIN, nodeName: 'node-b' }),
    ].map(({ metadata }) => metadata.uid);
    expect(new Set(uids).size).toBe(4);
  });

  test('keeps a UID of the manifest, which is also its hash', () => {
    const { uid, annotations } = made({}, { uid: 'my-own' }).metadata;
    expect([uid, annotations?.['kubernetes.io/config.hash']]).toEqual(['my-own', 'my-own']);
  });

  test('with a UID of the manifest has an annotation that differs between versions', () => {
    const hashOf = (spec: object, metadata = {}) =>
      made(spec, { uid: 'my-own', ...metadata }).metadata.annotations?.[MANIFEST_HASH_ANNOTATION];
    expect(hashOf({})).toMatch(/^[0-9a-f]{32}$/u);
    expect(hashOf({})).toBe(hashOf({}));
    expect(hashOf({ hostNetwork: true })).not.toBe(hashOf({}));
    expect(hashOf({}, { labels: { a: 'b' } })).not.toBe(hashOf({}));
  });

  test('has annotations for its source and hash, and is no mirror pod, even if the manifest is a copy of one', () => {
    const pod = made(
      {},
      {
        annotations: {
          'kubernetes.io/config.mirror': 'x',
          'kubernetes.io/config.source': 'api',
          [MANIFEST_HASH_ANNOTATION]: 'z',
          mine: 'y',
        },
      },
    );
    expect(pod.metadata.annotations).toEqual({
      mine: 'y',
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.hash': pod.metadata.uid,
    });
    expect(isStaticPod(pod)).toBe(true);
  });

  test('is Pending, whatever status the manifest has', () => {
    const pod = manifestPod(manifest({}, {}, { phase: 'Failed', reason: 'Evicted' }), ORIGIN);
    expect(pod.status).toEqual({ phase: 'Pending', reason: 'Evicted' });
  });

  test('tolerates every NoExecute taint, once', () => {
    const everything = { operator: 'Exists', effect: 'NoExecute' };
    expect(made().spec.tolerations).toEqual([everything]);
    const own = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };
    expect(made({ tolerations: [own, { ...everything, tolerationSeconds: 3 }] }).spec.tolerations).toEqual([
      own,
      everything,
    ]);
  });

  test('of a URL has only the tolerations of its manifest, as with the kubelet', () => {
    const pod = manifestPod(manifest(), { ...ORIGIN, source: 'http' });
    expect(pod.spec.tolerations).toBeUndefined();
  });

  test('has the defaults of the API server', () => {
    expect(made().spec).toMatchObject({ restartPolicy: 'Always', containers: [{ resources: {} }] });
  });

  test('is deeply frozen', () => {
    const pod = made({}, { labels: { a: 'b' } });
    expect(() => Object.assign(pod.metadata.labels!, { a: 'c' })).toThrow(TypeError);
    expect(() => (pod.spec.containers as unknown[]).push({})).toThrow(TypeError);
  });
});

describe('an ordinary pod', () => {
  const LOCAL = { ...ORIGIN, source: 'local' } as const;
  const ordinary = (spec: object = {}, metadata: object = {}) => manifestPod(manifest(spec, metadata), LOCAL);

  test('has the name of its manifest, and says that it is no static one', () => {
    const pod = ordinary({}, { annotations: { mine: 'y', 'kubernetes.io/config.mirror': 'x' } });
    expect(pod.metadata).toMatchObject({ name: 'web', namespace: 'default' });
    expect(pod.metadata.annotations).toEqual({ mine: 'y', 'kubernetes.io/config.source': 'local' });
    expect([isLocalPod(pod), isStaticPod(pod)]).toEqual([true, false]);
  });

  test('has another UID when its manifest changes; that of the manifest does not count', () => {
    const { uid } = ordinary().metadata;
    expect(uid).toMatch(/^[0-9a-f]{32}$/u);
    expect(ordinary().metadata.uid).toBe(uid);
    expect(ordinary({ hostname: 'a' }).metadata.uid).not.toBe(uid);
    expect(manifestPod(manifest(), { ...LOCAL, location: '/else.yaml' }).metadata.uid).not.toBe(uid);
    expect(ordinary({}, { uid: 'mine' }).metadata.uid).not.toBe('mine');
  });

  test('is Pending, with nothing of a status in its manifest', () => {
    expect(manifestPod(manifest({}, {}, { phase: 'Failed', reason: 'Evicted' }), LOCAL).status).toEqual({
      phase: 'Pending',
    });
  });

  test('has a priority and this node, and tolerates only what it says', () => {
    expect(ordinary({ nodeName: 'other' }).spec).toMatchObject({ priority: 0, nodeName: 'Node-A' });
    expect(ordinary().spec.tolerations).toBeUndefined();
  });
});
