import { describe, expect, test } from '@jest/globals';
import { apiPod } from '../../src/sources/api-pod.ts';
import { problemText } from '../../src/sources/source.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

const MARK = 'statelet.dev/invalid';

function pod(more: { metadata?: object; spec?: object; status?: object } = {}): object {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u-1', ...more.metadata },
    spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'web:1' }], ...more.spec },
    ...(more.status && { status: more.status }),
  };
}
const texts = (object: unknown, before?: Pod) => apiPod(object, before).problems.map(problemText);
/** A pod that holds. */
const held = (object: object = pod()) => apiPod(object).pod!;

describe('a pod that holds', () => {
  test('is taken as it is, with the kind that the items of a list lack', () => {
    expect(apiPod(pod())).toEqual({ pod: { apiVersion: 'v1', kind: 'Pod', ...pod() }, problems: [] });
  });

  test('loses its nulls: the API server writes them for what is not set', () => {
    const conditions = [{ type: 'Ready', status: 'True', lastProbeTime: null }];
    expect(held(pod({ status: { conditions } })).status).toEqual({
      conditions: [{ type: 'Ready', status: 'True' }],
    });
  });

  test.each([
    ['an unknown field', { spec: { futureField: { a: 1 } } }],
    ['an unknown choice', { spec: { dnsPolicy: 'FromTheFuture', restartPolicy: 'Sometimes' } }],
    ['a label that only a newer server accepts', { metadata: { labels: { 'a b': '!' } } }],
    ['a reference to an object of the API', { spec: { serviceAccountName: 'default' } }],
    ['an ephemeral container', { spec: { ephemeralContainers: [{ name: 'debug', image: 'x' }] } }],
  ])('may have %s: the API server has validated it', (_what, more) => {
    expect(texts(pod(more))).toEqual([]);
  });

  test('cannot say by itself that it does not hold', () => {
    const annotations = { [MARK]: 'a trick', other: 'x' };
    expect(held(pod({ metadata: { annotations } })).metadata.annotations).toEqual({ other: 'x' });
  });
});

describe('a pod that does not hold', () => {
  test.each([
    ['spec.containers: is required', { containers: undefined }],
    ['spec.containers: must have at least 1 item', { containers: [] }],
    ['spec.containers: must be array', { containers: { name: 'main' } }],
    ['spec.containers[0].name: is required', { containers: [{ image: 'x' }] }],
    ['spec.containers[0].name: must be a DNS label', { containers: [{ name: '../../etc' }] }],
    ['spec.volumes[0].name: must be a DNS label', { volumes: [{ name: '..', emptyDir: {} }] }],
    ['spec.containers[1].name: is already used', { containers: [{ name: 'a' }, { name: 'a' }] }],
    [
      'spec.containers[0].resources.limits.cpu: must be a quantity',
      { containers: [{ name: 'a', resources: { limits: { cpu: 'lots' } } }] },
    ],
    ['spec.terminationGracePeriodSeconds: must be', { terminationGracePeriodSeconds: 'long' }],
  ])('is told by its field: %s', (message, spec) => {
    const { pod: marked, problems } = apiPod(pod({ spec }));
    expect(problems.map(problemText).join('\n')).toContain(message);
    expect(marked?.spec).toEqual({ containers: [] });
    expect(marked?.metadata.annotations?.[MARK]).toContain(message);
  });

  test('keeps its identity, its deletion and its phase, so that its end can be told', () => {
    const metadata = { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 };
    const broken = apiPod(pod({ metadata, spec: { containers: [] }, status: { phase: 'Failed' } })).pod;
    expect(broken?.metadata).toMatchObject({ name: 'web', namespace: 'shop', uid: 'u-1', ...metadata });
    expect(broken?.status).toEqual({ phase: 'Failed' });
  });

  test('keeps the spec that held before: a broken update ends nothing', () => {
    const metadata = { labels: { a: 'b' }, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const update = apiPod(pod({ metadata, spec: { containers: [] } }), held());
    expect(update.pod?.spec).toEqual(held().spec);
    expect(update.pod?.metadata).toMatchObject(metadata);
    expect(update.pod?.metadata.annotations?.[MARK]).toBeUndefined();
    expect(update.problems).toHaveLength(1);
  });

  test('stays rejected after another broken update, and is as it should be after a good one', () => {
    const broken = apiPod(pod({ spec: { containers: [] } })).pod;
    expect(apiPod(pod({ spec: { containers: [] } }), broken).pod?.metadata.annotations?.[MARK]).toBeDefined();
    expect(apiPod(pod(), broken).pod).toEqual(held());
  });

  test('with a field of metadata that cannot be used loses that field', () => {
    const broken = apiPod(pod({ metadata: { annotations: { a: 1 }, labels: { x: 'y' } } })).pod;
    expect(broken?.metadata.annotations).toEqual({ [MARK]: expect.stringContaining('metadata.annotations') });
    expect(broken?.metadata.labels).toEqual({ x: 'y' });
  });

  test('with nothing but a broken status is run without that status', () => {
    const { pod: usable, problems } = apiPod(pod({ status: { conditions: 'none' } }));
    expect(usable).toEqual(held());
    expect(problems).toHaveLength(1);
  });

  test.each([
    ['no object', 'pod', 'must be a pod (got a text)'],
    ['nothing', undefined, 'must be a pod (got nothing)'],
    ['no metadata', { spec: {} }, 'metadata: is required'],
    ['no UID', pod({ metadata: { uid: undefined } }), 'metadata.uid: is required'],
    ['a name that is a path', pod({ metadata: { name: '../x' } }), 'metadata.name: must be a DNS name'],
  ])('and has %s cannot even be rejected: it is left out', (_what, object, message) => {
    expect(apiPod(object).pod).toBeUndefined();
    expect(texts(object).join('\n')).toContain(message);
  });

  test('is refused without an exception where it is nested too deep', () => {
    let value: object = {};
    for (let depth = 0; depth < 200; depth += 1) value = { value };
    expect(texts(pod({ spec: value }))).toEqual(['is nested deeper than 100 levels']);
  });
});
