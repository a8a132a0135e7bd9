import { describe, expect, test } from '@jest/globals';
import { containerEnv } from '../../../src/policies/cri/container-env.ts';
import { envObjectNames } from '../../../src/policies/cri/env-objects.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';

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
