import { describe, expect, test } from '@jest/globals';
import { containerEnv } from '../../../../src/agent/policies/cri/container-env.ts';
import { envObjectNames, referencedObjects } from '../../../../src/agent/policies/cri/env-objects.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

const objects = {
  configMaps: new Map([
    ['settings', { data: { color: 'blue', size: '7' } }],
    ['none', undefined],
  ]),
  secrets: new Map([
    ['login', { data: { password: 'w6k=' } }],
    ['none', undefined],
  ]),
};

function envOf(container: Partial<Container>): Record<string, string> {
  const main = { name: 'main', ...container };
  const pod: Pod = { metadata: { name: 'web', namespace: 'ns', uid: 'u-1' }, spec: { containers: [main] } };
  const facts = { podIPs: [], hostIPs: [], allocatable: {}, objects };
  return Object.fromEntries(containerEnv(pod, main, facts).map(({ key, value }) => [key, value]));
}

const ofMap = (name: string, key: string, optional?: boolean) => ({
  configMapKeyRef: { name, key, ...(optional !== undefined && { optional }) },
});
const ofSecret = (name: string, key: string, optional?: boolean) => ({
  secretKeyRef: { name, key, ...(optional !== undefined && { optional }) },
});

describe('variables', () => {
  test('are the keys of the objects, in order, with a prefix; those of env count more, and may refer to them', () => {
    const envFrom = [
      { configMapRef: { name: 'settings' } },
      { prefix: 'P_', configMapRef: { name: 'settings' } },
      { secretRef: { name: 'login' } },
      { secretRef: { name: 'none', optional: true } },
    ];
    const env = [
      { name: 'size', value: '$(P_size)8' },
      { name: 'SECRET', valueFrom: ofSecret('login', 'password') },
    ];
    expect(envOf({ envFrom, env })).toEqual({
      color: 'blue',
      size: '78',
      P_color: 'blue',
      P_size: '7',
      password: 'é',
      SECRET: 'é',
    });
  });

  test.each([
    ['a missing ConfigMap', ofMap('none', 'x'), 'configmap "none" not found'],
    ['a missing key of a ConfigMap', ofMap('settings', 'x'), "couldn't find key x in ConfigMap ns/settings"],
    ['a missing Secret', ofSecret('none', 'x'), 'secret "none" not found'],
    ['a missing key of a Secret', ofSecret('login', 'x'), "couldn't find key x in Secret ns/login"],
    [
      'a key that every object has',
      ofMap('settings', 'toString'),
      "couldn't find key toString in ConfigMap ns/settings",
    ],
  ])('cannot be had from %s', (_, valueFrom, message) => {
    expect(() => envOf({ env: [{ name: 'X', valueFrom }] })).toThrow(message);
  });

  test('name all that is missing, each once and ten at most, and nothing that is wrong besides', () => {
    const envFrom = [{ configMapRef: { name: 'none' } }, { secretRef: { name: 'login' } }];
    const env = [
      { name: 'A', valueFrom: ofMap('settings', 'x') },
      { name: 'B', valueFrom: ofMap('none', 'x') },
      { name: 'C', valueFrom: { fieldRef: { fieldPath: 'spec.none' } } },
      { name: 'D', valueFrom: ofSecret('login', 'x') },
    ];
    const missing = ['configmap "none" not found', "couldn't find key x in ConfigMap ns/settings"];
    const message = [...missing, "couldn't find key x in Secret ns/login"].join('; ');
    expect(() => envOf({ envFrom, env })).toThrow(new StateletError('NotFound', message));
    const many = Array.from({ length: 12 }, (_, index) => ({
      name: `X${index}`,
      valueFrom: ofMap('settings', `x${index}`),
    }));
    expect(() => envOf({ env: many })).toThrow(/^(?:[^;]*; ){9}[^;]*x9 in ConfigMap ns\/settings$/);
  });

  test('are left out where what is missing is optional', () => {
    const references = [ofMap('none', 'x', true), ofMap('settings', 'x', true), ofSecret('none', 'x', true)];
    expect(envOf({ env: references.map((valueFrom, index) => ({ name: `X${index}`, valueFrom })) })).toEqual(
      {},
    );
  });
});

test('each object that variables refer to is read once', () => {
  const env = [
    { name: 'A', valueFrom: ofMap('settings', 'color') },
    { name: 'B', valueFrom: ofMap('settings', 'size') },
    { name: 'C', value: 'own', valueFrom: ofMap('unused', 'x') },
  ];
  const names = envObjectNames({ name: 'main', env, envFrom: [{ secretRef: { name: 'login' } }] });
  expect(names).toEqual({ configMaps: new Set(['settings']), secrets: new Set(['login']) });
});

test('a pod refers to the objects of its volumes, of its variables, and to its pull secrets', () => {
  const from = (name: string) => ({ envFrom: [{ configMapRef: { name: `${name}-all` } }] });
  const pod = podOf({
    imagePullSecrets: [{ name: 'pull' }, {}],
    volumes: [
      { name: 'a', configMap: { name: 'settings' } },
      { name: 'b', secret: { secretName: 'login' } },
      { name: 'c', projected: { sources: [{ configMap: { name: 'ca' } }, { secret: { name: 'key' } }] } },
      { name: 'd', emptyDir: {} },
      { name: 'e', persistentVolumeClaim: { claimName: 'claim' } },
    ],
    initContainers: [{ name: 'init', ...from('init') }],
    containers: [
      {
        name: 'main',
        envFrom: [{ secretRef: { name: 'login' } }],
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'one', key: 'a' } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'two', key: 'b' } } },
          { name: 'C', value: 'x' },
        ],
      },
    ],
    ephemeralContainers: [{ name: 'debug', ...from('debug') }],
  });
  const { configMaps, secrets } = referencedObjects(pod);
  expect([...configMaps].sort()).toEqual(['ca', 'debug-all', 'init-all', 'one', 'settings']);
  expect([...secrets].sort()).toEqual(['key', 'login', 'pull', 'two']);
});
