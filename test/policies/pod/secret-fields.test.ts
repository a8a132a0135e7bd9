import { expect, test } from '@jest/globals';
import {
  hasSecretValues,
  isCommandField,
  isSecretField,
  mayBeSecret,
} from '../../../src/policies/pod/secret-fields.ts';

test.each(
  [
    ['password', 'identityToken', 'registryToken', 'serviceAccountToken', 'apiKey', 'privateKey'],
    [
      'imagePullSecrets',
      'secret',
      'secretRef',
      'stringData',
      'auth',
      'auths',
      'Authorization',
      'envFrom',
      'credentials',
    ],
  ].flat(),
)('%s is a secret field', (name) => {
  expect(isSecretField(name)).toBe(true);
});

test.each(['name', 'image', 'tokenExpirationSeconds', 'author', 'env', 'secretName', 'key'])(
  '%s is no secret field',
  (name) => {
    expect(isSecretField(name)).toBe(false);
  },
);

test('the values of environment variables and HTTP headers are secret, their names are not', () => {
  expect(['env', 'envs', 'httpHeaders', 'labels'].map(hasSecretValues)).toEqual([true, true, true, false]);
});

test('command lines may hold secrets', () => {
  expect(['command', 'args', 'workingDir'].map(isCommandField)).toEqual([true, true, false]);
});

test.each([
  [['spec', 'containers', '0', 'env', '1', 'value'], true],
  [['spec', 'containers', '0', 'livenessProbe', 'exec', 'command', '2'], true],
  [['metadata', 'annotations', 'note'], true],
  [['spec', 'imagePullSecrets', '0', 'name'], true],
  [['spec', 'containers', '0', 'image'], false],
  [['metadata', 'labels', 'app'], false],
])('a value at %j may be secret: %s', (path, want) => {
  expect(mayBeSecret(path)).toBe(want);
});
