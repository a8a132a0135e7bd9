import { describe, expect, test } from '@jest/globals';
import { parse, podWith, problemsOf } from '../support.ts';

const APP = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'app' }, data: { a: 'b' } };
const KEYS = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys', namespace: 'shop' } };
const documents = (...all: readonly object[]) => all.map((one) => JSON.stringify(one)).join('\n---\n');
const named = (content: string | object) => {
  const { pods, objects } = parse(content, 'local');
  return [
    ...pods.map(({ metadata }) => `Pod ${metadata.name}`),
    ...objects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
  ];
};

describe('objects beside pods', () => {
  test.each<[string, string | object]>([
    ['are documents of their own', documents(podWith({}), APP, KEYS)],
    ['are in a List', { apiVersion: 'v1', kind: 'List', items: [podWith({}), APP, KEYS] }],
    [
      'are in lists of their kind, whose items do not say what they are',
      documents(
        podWith({}),
        { apiVersion: 'v1', kind: 'ConfigMapList', items: [{ metadata: APP.metadata }] },
        { apiVersion: 'v1', kind: 'SecretList', items: [{ metadata: KEYS.metadata }] },
      ),
    ],
  ])('%s', (_how, content) => {
    expect(named(content)).toEqual(['Pod web', 'ConfigMap default/app', 'Secret shop/keys']);
    expect(problemsOf(content, 'local')).toEqual([]);
  });

  test('are refused where pods are static, as with the kubelet', () => {
    expect(problemsOf(documents(podWith({}), APP))).toEqual([
      'document 2: kind: a ConfigMap is for ordinary pods: static pods may refer to none, so bring it and its pods with --pods',
    ]);
    expect(parse(documents(podWith({}), APP))).toMatchObject({ pods: [], isBroken: true });
  });
});

describe('a document of a kind that has no effect is left out, with what to write instead, and the others count:', () => {
  test.each<[string, string, RegExp]>([
    ['apps/v1', 'Deployment', /^a Deployment has no controller here: write its spec\.template as a Pod/u],
    ['apps/v1', 'StatefulSet', /and each of its volumeClaimTemplates as a PersistentVolumeClaim$/u],
    ['batch/v1', 'Job', /as a Pod .* with restartPolicy: OnFailure or Never$/u],
    ['batch/v1', 'CronJob', /^a CronJob has no controller here: write spec\.jobTemplate\.spec\.template/u],
    ['v1', 'Service', /^a Service has no effect here, .* give the container a hostPort/u],
    ['v1', 'PersistentVolume', /for a folder of yours, write a hostPath volume into the pod$/u],
    ['rbac.authorization.k8s.io/v1', 'RoleBinding', /no API server to have rights at/u],
    ['example.com/v1', 'Widget', /^"Widget" of "example\.com\/v1" has no effect here$/u],
  ])('%s %s', (apiVersion, kind, advice) => {
    const { pods, problems, isBroken } = parse(
      documents({ apiVersion, kind, metadata: { name: 'x' } }, podWith({})),
      'local',
    );
    expect(pods).toHaveLength(1);
    expect(problems).toEqual([
      {
        field: 'document 1: kind',
        message: expect.stringMatching(advice) as unknown as string,
        leavesOut: true,
      },
    ]);
    expect(isBroken).toBe(false);
  });

  test('where no other is there, the last good version of the manifest counts', () => {
    expect(parse({ apiVersion: 'apps/v1', kind: 'Deployment' }, 'local').isBroken).toBe(true);
  });
});

test.each<[string, object, string]>([
  [
    'is written wrong',
    { ...APP, kind: 'ConfigMpa' },
    'kind: must be Pod, ConfigMap, Secret, PersistentVolumeClaim or List (got "ConfigMpa"); did you mean "ConfigMap"?',
  ],
  ['has another version', { ...APP, apiVersion: 'v1beta1' }, 'apiVersion: must be v1 (got "v1beta1")'],
])('a kind that %s breaks the whole manifest: it may be a pod that runs', (_what, wrong, problem) => {
  const content = documents(podWith({}), wrong);
  expect(problemsOf(content, 'local')).toEqual([`document 2: ${problem}`]);
  expect(parse(content, 'local')).toMatchObject({ pods: [], isBroken: true });
});

test('an object with a problem breaks the whole manifest, as a pod with a problem does', () => {
  const content = documents(podWith({}), { ...KEYS, data: { a: '!' } });
  expect(parse(content, 'local')).toMatchObject({ pods: [], objects: [], isBroken: true });
});

test('a Secret has what stands in stringData, and a manifest is kept without its Secrets', () => {
  const content = documents(podWith({}), APP, {
    ...KEYS,
    data: { a: 'eA==', b: 'eA==' },
    stringData: { b: 'ü' },
  });
  const { objects, withoutSecrets = '' } = parse(content, 'local');
  expect(objects[1]?.object).toEqual({
    ...KEYS,
    metadata: { name: 'keys', namespace: 'shop' },
    data: { a: 'eA==', b: 'w7w=' },
  });
  expect(named(withoutSecrets)).toEqual(['Pod web', 'ConfigMap default/app']);
  expect(withoutSecrets).not.toContain('eA==');
  expect(parse(documents(podWith({}), APP), 'local').withoutSecrets).toBeUndefined();
});
